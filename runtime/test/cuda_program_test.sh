#!/bin/bash
# cuda_program_test.sh BIN: the programs on one GPU with threads as ranks give what they give on the host. Without a
# GPU: they say so with exit code 78, and this test is skipped (77).
set -u
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - "$work" <<'PYTHON'
import os, struct, sys
def write(path, shape, values, kind="f"):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % ({"f": "f4", "q": "i8"}[kind], shape)
    header += " " * ((-len(header) - 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(values), kind), *values))
folder = sys.argv[1]
write(folder + "/x.npy", (6, 8), [i % 7 - 3 for i in range(48)])
write(folder + "/rows.npy", (4, 8), [i % 7 - 3 for i in range(32)])
os.mkdir(folder + "/data")
write(folder + "/data/x.npy", (10, 4), [i * 5 % 7 / 4 - 1 for i in range(40)])
write(folder + "/data/labels.npy", (10,), [i * 3 % 5 if i != 3 else -100 for i in range(10)], "q")
with open(folder + "/weights.bin", "wb") as file:
    file.write(struct.pack("<280f", *[(i * 37) % 11 / 8 - 0.5 for i in range(280)]))
PYTHON
cp "$bin"/Runtime_{example,collectives,pipeline,offload,server,asynchronous_server}_{cuda,program} "$work" || exit 1
cd "$work" || exit 1
message=$(./Runtime_example_cuda --input x=x.npy 2>&1)
code=$?
if [ $code = 78 ] && [[ $message == *"compiled for GPUs, and none is usable"* ]]; then
  echo "skipped: there is no GPU"
  exit 77
fi
set -e
for program in example:x collectives:rows; do
  name=${program%:*}
  ./Runtime_${name}_program --input x=${program#*:}.npy --output-dir host-$name --communicator local --metrics host.json
  for chance in 1 2 3; do
    ./Runtime_${name}_cuda --input x=${program#*:}.npy --output-dir cuda-$name --communicator local --steps 5 \
      --metrics cuda.json
    python3 - host-$name cuda-$name <<'PYTHON'
import os, struct, sys
for name in sorted(os.listdir(sys.argv[1])):
    first, second = (open(os.path.join(folder, name), "rb").read()[128:] for folder in sys.argv[1:3])
    a, b = (struct.unpack("<%df" % (len(data) // 4), data) for data in (first, second))
    worst = max(abs(x - y) for x, y in zip(a, b)) if a else 0
    assert len(a) == len(b) and worst < 1e-5, (name, worst)
PYTHON
  done
done
# Training in stages, with parameters on the host and on NVMe, and with servers.
for name in pipeline offload server asynchronous_server; do
  replay=
  for kind in program cuda cuda; do
    ./Runtime_${name}_$kind --data data --steps 12 --communicator local --metrics $kind.json $replay
    [ $name = asynchronous_server ] && replay="--replay program.json"
  done
  python3 - program.json cuda.json <<'PYTHON'
import json, sys
host, cuda = (json.load(open(name)) for name in sys.argv[1:])
for key in ("loss", "gradient_norm"):
    assert all(abs(a - b) < 1e-5 for a, b in zip(host[key], cuda[key], strict=True)), (key, host[key], cuda[key])
for key in ("peak_memory_bytes", "host_peak_memory_bytes", "nvme_peak_bytes", "communication", "offload"):
    assert host[key] == cuda[key], (key, host[key], cuda[key])
PYTHON
done
echo "programs on the GPU agree with the host"
