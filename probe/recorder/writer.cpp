// The file of the record.
#include "writer.hpp"

namespace threadmark {

int Writer::open(const std::string& path) {
  constexpr int kHow = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_CREAT;
  file_ = Descriptor(::open(path.c_str(), kHow | O_EXCL, 0666));
  if (file_) {
    made_ = path;
  } else if (errno == EEXIST) {
    file_ = Descriptor(::open(path.c_str(), kHow, 0666));
  }
  return file_ ? 0 : errno;
}

void Writer::abandon() {
  if (!made_.empty()) ::unlink(made_.c_str());
}

void Writer::chunk(Chunk kind, const std::string& bytes) {
  if (error_ != 0) return;
  if (written_ == 0 && ::ftruncate(file_.get(), 0) != 0 && errno != EINVAL) {
    error_ = errno;
    return;
  }
  ChunkHead head{kChunkMagic, static_cast<std::uint32_t>(kind),
                 static_cast<std::uint32_t>(bytes.size()), 0};
  head.checksum = checksum_of(head, bytes.data());
  std::string whole(reinterpret_cast<const char*>(&head), sizeof head);
  whole += bytes;
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t put = ::write(file_.get(), whole.data() + done, whole.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      error_ = put < 0 ? errno : EIO;
      if (::ftruncate(file_.get(), static_cast<off_t>(written_)) != 0) return;
      return;
    }
    done += static_cast<std::size_t>(put);
  }
  written_ += whole.size();
}

}  // namespace threadmark
