# ONNX, built once by scripts/setup outside of the build folders: parplan::onnx.
