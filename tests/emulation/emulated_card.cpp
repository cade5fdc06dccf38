// What torch asks of CUDA below Python, answered without a card: which devices there are, streams, generators.
// Tensors are Python's (emulated_card.py); a torch built without CUDA has these places free.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {
using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

constexpr auto CUDA = c10::DeviceType::CUDA;
constexpr DeviceIndex N_CARDS = 2;
thread_local DeviceIndex current = 0;

DeviceIndex index_of(Device device) { return device.has_index() ? device.index() : current; }
Stream only_stream(Device device) { return Stream(Stream::DEFAULT, Device(CUDA, index_of(device))); }

struct Guard final : public c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return CUDA; }
  Device getDevice() const override { return {CUDA, current}; }
  void setDevice(Device device) const override { current = index_of(device); }
  void uncheckedSetDevice(Device device) const noexcept override { current = index_of(device); }
  Device exchangeDevice(Device device) const override {
    Device before = getDevice();
    setDevice(device);
    return before;
  }
  Stream getStream(Device device) const override { return only_stream(device); }
  Stream getDefaultStream(Device device) const override { return only_stream(device); }
  Stream exchangeStream(Stream stream) const override { return only_stream(stream.device()); }
  DeviceIndex deviceCount() const noexcept override { return N_CARDS; }
};

struct Generator : public at::CPUGeneratorImpl {
  explicit Generator(DeviceIndex index) { device_ = Device(CUDA, index < 0 ? current : index); }
};

struct CUDAHooks : public at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isAvailable() const override { return true; }
  bool isBuilt() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex getCurrentDevice() const override { return current; }
  DeviceIndex deviceCount() const override { return N_CARDS; }
  at::Generator getNewGenerator(DeviceIndex index) const override { return at::make_generator<::Generator>(index); }
};
}  // namespace

namespace at {
REGISTER_CUDA_HOOKS(CUDAHooks)  // by this name torch looks for them
}
namespace c10::impl {
C10_REGISTER_GUARD_IMPL(CUDA, Guard)
}
