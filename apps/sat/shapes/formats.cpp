// The definitions. Formats of triangles, and the picture, use a mesh within a thousandth of the
// size of the whole.
#include "formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include <BRepBndLib.hxx>
#include <BRepMesh_IncrementalMesh.hxx>
#include <BRepTools.hxx>
#include <BRep_Tool.hxx>
#include <Bnd_Box.hxx>
#include <HLRAlgo_Projector.hxx>
#include <HLRBRep_PolyAlgo.hxx>
#include <HLRBRep_PolyHLRToShape.hxx>
#include <IFSelect_ReturnStatus.hxx>
#include <Interface_Static.hxx>
#include <Message_ProgressIndicator.hxx>
#include <OSD_Parallel.hxx>
#include <OSD_ThreadPool.hxx>
#include <RWGltf_CafWriter.hxx>
#include <STEPControl_Writer.hxx>
#include <StlAPI_Writer.hxx>
#include <TColStd_IndexedDataMapOfStringString.hxx>
#include <TDF_Label.hxx>
#include <TDataStd_Name.hxx>
#include <TDocStd_Document.hxx>
#include <TopExp.hxx>
#include <TopExp_Explorer.hxx>
#include <TopLoc_Location.hxx>
#include <TopoDS.hxx>
#include <TopoDS_Edge.hxx>
#include <TopoDS_Face.hxx>
#include <TopoDS_Vertex.hxx>
#include <XCAFApp_Application.hxx>
#include <XCAFDoc_DocumentTool.hxx>
#include <XCAFDoc_ShapeTool.hxx>

#include "students/complaint.hpp"

namespace sat::shapes {
namespace {

// Asks the team's check now and then; Open CASCADE must not be left by an exception of ours.
class Watch : public Message_ProgressIndicator {
 public:
  explicit Watch(Check check) : check_(check) {}
  Standard_Boolean UserBreak() override {
    if (check_ == nullptr) return false;
    try {
      check_();
      return false;
    } catch (...) {
      return true;
    }
  }
  void Show(const Message_ProgressScope&, const Standard_Boolean) override {}

 private:
  Check check_;
};

void mesh(const TopoDS_Shape& shape, Team& team) {
  Bnd_Box box;
  BRepBndLib::Add(shape, box, false);
  if (box.IsVoid()) throw students::Failure("There is nothing to draw: no face was made.");
  const double size = std::sqrt(box.SquareExtent());
  // As many threads as the command was given, and those of Open CASCADE itself.
  OSD_Parallel::SetUseOcctThreads(true);
  OSD_ThreadPool::DefaultPool()->Init(static_cast<int>(team.threads()) - 1);
  const Handle(Watch) watch = new Watch(team.check());
  IMeshTools_Parameters parameters;
  parameters.Deflection = 1e-3 * size;
  parameters.Angle = 0.35;
  parameters.InParallel = team.threads() > 1;
  const BRepMesh_IncrementalMesh made(shape, parameters, watch->Start());
  if (team.check() != nullptr) team.check()();
}

std::uint64_t without_triangles(const TopoDS_Shape& shape) {
  std::uint64_t number = 0;
  for (TopExp_Explorer at(shape, TopAbs_FACE); at.More(); at.Next()) {
    TopLoc_Location location;
    const Handle(Poly_Triangulation) & found =
        BRep_Tool::Triangulation(TopoDS::Face(at.Current()), location);
    number += found.IsNull() || found->NbTriangles() == 0;
  }
  return number;
}

bool write_step(const Shapes& shapes, const std::string& path, const Handle(Watch) & watch) {
  STEPControl_Writer writer;
  Interface_Static::SetCVal("write.step.unit", "MM");
  for (const TopoDS_Shape& each : shapes.bodies) {
    if (writer.Transfer(each, STEPControl_AsIs, true, watch->Start()) != IFSelect_RetDone) {
      return false;
    }
  }
  return writer.Write(path.c_str()) == IFSelect_RetDone;
}

bool write_gltf(const Shapes& shapes, const std::string& path, const Handle(Watch) & watch) {
  const Handle(XCAFApp_Application) application = XCAFApp_Application::GetApplication();
  Handle(TDocStd_Document) document;
  application->NewDocument("BinXCAF", document);
  const Handle(XCAFDoc_ShapeTool) tool = XCAFDoc_DocumentTool::ShapeTool(document->Main());
  for (std::size_t i = 0; i < shapes.bodies.size(); ++i) {
    const TDF_Label label = tool->AddShape(shapes.bodies[i], false);
    TDataStd_Name::Set(label, ("body " + std::to_string(i + 1)).c_str());
  }
  RWGltf_CafWriter writer(path.c_str(), true);
  // Its lengths are metres, and its y points upwards.
  writer.ChangeCoordinateSystemConverter().SetInputLengthUnit(0.001);
  writer.ChangeCoordinateSystemConverter().SetInputCoordinateSystem(RWMesh_CoordinateSystem_Zup);
  TColStd_IndexedDataMapOfStringString about;
  about.Add("generator", "tmk-sat");
  const bool done = writer.Perform(document, about, watch->Start());
  // Where the disk is full the writer leaves a file of its own, named without the last extension.
  std::remove((path.substr(0, path.rfind('.')) + ".bin.tmp").c_str());
  application->Close(document);
  return done;
}

// Whether a file has as many bytes as it says: Open CASCADE does not look whether the last ones
// were written. `word` is where the file's number of things of `each` bytes behind `head` stands.
bool is_whole(const std::string& path, std::uint64_t word, std::uint64_t head, std::uint64_t each) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(in.tellg());
  std::array<char, 4> bytes{};
  in.seekg(static_cast<std::streamoff>(word)).read(bytes.data(), bytes.size());
  std::uint64_t count = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    count = count << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return in && size == head + each * count;
}

// Visible edges seen from the right, the front and above.
class Picture {
 public:
  explicit Picture(const TopoDS_Shape& shape) {
    Handle(HLRBRep_PolyAlgo) algorithm = new HLRBRep_PolyAlgo(shape);
    const gp_Dir towards(1, -1.4, 0.9);
    algorithm->Projector(HLRAlgo_Projector(gp_Ax2(gp_Pnt(0, 0, 0), towards, gp_Dir(1.4, 1, 0))));
    algorithm->Update();
    HLRBRep_PolyHLRToShape result;
    result.Update(algorithm);
    take(result.Rg1LineVCompound(), 0);
    take(result.RgNLineVCompound(), 0);
    take(result.VCompound(), 1);
    take(result.OutLineVCompound(), 1);
  }

  std::string text() const {
    constexpr double kWidth = 800;
    constexpr double kMargin = 16;
    double low_x = 1e100;
    double low_y = 1e100;
    double high_x = -1e100;
    double high_y = -1e100;
    for (const auto& lines : lines_) {
      for (const Line& each : lines) {
        low_x = std::min({low_x, each.x0, each.x1});
        high_x = std::max({high_x, each.x0, each.x1});
        low_y = std::min({low_y, each.y0, each.y1});
        high_y = std::max({high_y, each.y0, each.y1});
      }
    }
    if (low_x > high_x) return {};
    const double size = std::max({high_x - low_x, high_y - low_y, 1e-9});
    const double scale = (kWidth - 2 * kMargin) / size;
    const auto width = (high_x - low_x) * scale + 2 * kMargin;
    const auto height = (high_y - low_y) * scale + 2 * kMargin;
    char part[160];
    std::snprintf(part, sizeof part, "%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n", width,
                  height, width, height);
    std::string text = std::string("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"") + part +
                       "<title>Visible edges</title>\n";
    constexpr std::array<const char*, 2> kStyles{"#999\" stroke-width=\"0.6",
                                                 "#111\" stroke-width=\"1.2"};
    for (std::size_t sort = 0; sort < lines_.size(); ++sort) {
      text += std::string("<path fill=\"none\" stroke-linecap=\"round\" stroke=\"") +
              kStyles[sort] + "\" d=\"";
      for (const Line& each : lines_[sort]) {
        std::snprintf(part, sizeof part, "M%.2f %.2fL%.2f %.2f",
                      (each.x0 - low_x) * scale + kMargin, (high_y - each.y0) * scale + kMargin,
                      (each.x1 - low_x) * scale + kMargin, (high_y - each.y1) * scale + kMargin);
        text += part;
      }
      text += "\"/>\n";
    }
    return text + "</svg>\n";
  }

 private:
  struct Line {
    double x0;
    double y0;
    double x1;
    double y1;
  };

  void take(const TopoDS_Shape& edges, std::size_t sort) {
    if (edges.IsNull()) return;
    for (TopExp_Explorer at(edges, TopAbs_EDGE); at.More(); at.Next()) {
      TopoDS_Vertex first;
      TopoDS_Vertex last;
      TopExp::Vertices(TopoDS::Edge(at.Current()), first, last);
      if (first.IsNull() || last.IsNull()) continue;
      const gp_Pnt a = BRep_Tool::Pnt(first);
      const gp_Pnt b = BRep_Tool::Pnt(last);
      lines_[sort].push_back({a.X(), a.Y(), b.X(), b.Y()});
    }
  }

  std::array<std::vector<Line>, 2> lines_;  // where surfaces join smoothly, and others
};

bool write_picture(const Shapes& shapes, const std::string& path) {
  const std::string text = Picture(shapes.shape).text();
  if (text.empty()) throw students::Failure("There is nothing to draw: no face was made.");
  std::ofstream out(path, std::ios::binary);
  out << text;
  return static_cast<bool>(out.flush());
}

}  // namespace

std::uint64_t write_shapes(const Shapes& shapes, Format format, const std::string& path,
                           const std::string& target, Team& team) {
  const Handle(Watch) watch = new Watch(team.check());
  std::uint64_t lost = 0;
  if (format != Format::kStep && format != Format::kBrep) {
    mesh(shapes.shape, team);
    lost = without_triangles(shapes.shape);
  }
  bool done = false;
  switch (format) {
    case Format::kStep:
      done = write_step(shapes, path, watch);
      break;
    case Format::kBrep:
      done = BRepTools::Write(shapes.shape, path.c_str(), watch->Start());
      break;
    case Format::kStl: {
      StlAPI_Writer writer;
      writer.ASCIIMode() = false;
      done = writer.Write(shapes.shape, path.c_str(), watch->Start()) && is_whole(path, 80, 84, 50);
      break;
    }
    case Format::kGltf:
      done = write_gltf(shapes, path, watch) && is_whole(path, 8, 0, 1);
      break;
    case Format::kSvg:
      done = write_picture(shapes, path);
      break;
  }
  if (team.check() != nullptr) team.check()();
  if (!done) throw students::write_failure(target, 0, "another file or another format");
  return lost;
}

}  // namespace sat::shapes
