// A vector whose capacity is fixed when it is made and whose first N places are inside the object:
// a task that starts a few children keeps their handles without using the heap. Elements never
// move, so children may write into them.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>

namespace bench {

template <class T, std::size_t N>
class small_vector {
 public:
  explicit small_vector(std::size_t capacity)
      : data_(capacity <= N ? reinterpret_cast<T*>(inside_)
                            : std::allocator<T>().allocate(capacity)),
        capacity_(capacity) {}
  small_vector(const small_vector&) = delete;
  small_vector& operator=(const small_vector&) = delete;
  ~small_vector() {
    std::destroy_n(data_, size_);
    if (capacity_ > N) std::allocator<T>().deallocate(data_, capacity_);
  }

  // Appends make()'s result, built in place, so T need not even be movable. Precondition: size() <
  // capacity.
  template <class Make>
  T& emplace_from(Make&& make) {
    assert(size_ < capacity_);
    T* place = ::new (static_cast<void*>(data_ + size_)) T(make());
    ++size_;
    return *place;
  }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  std::size_t size() const { return size_; }

 private:
  T* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  alignas(T) std::byte inside_[N * sizeof(T)];
};

}  // namespace bench
