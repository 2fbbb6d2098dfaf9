#!/usr/bin/env python3
"""Makes torch_optimizers.json: what PyTorch's own optimisers do with given gradients.

    pip install torch==2.1.2 && python3 tests/train/torch_optimizers.py > tests/train/torch_optimizers.json

Four tensors as a network of one hidden layer has them: W and b learn at hidden_rate times the rate, and weight decay
leaves b and c alone. Gradients depend on step and place only, and are exact in float. The test that reads the file,
optimizer_test.cpp, repeats the formulas below.
"""

import json

import torch

SIZES = {"layer1.W_s": 6, "layer1.b_s": 3, "V": 6, "c": 2}
STEPS, KEPT = 100, (1, 10, 100)
CASES = [
    {"optimizer": "sgd", "learning_rate": 0.05},
    {"optimizer": "sgd", "learning_rate": 0.05, "weight_decay": 0.1, "hidden_rate": 0.25, "momentum": 0.5},
    {"optimizer": "sgd", "learning_rate": 0.05, "clip_norm": 1.5, "hidden_rate": 3},
    {"optimizer": "nesterov", "learning_rate": 0.03, "weight_decay": 0.05},
    {"optimizer": "adam", "learning_rate": 0.01},
    {"optimizer": "adam", "learning_rate": 0.02, "weight_decay": 0.3, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-4},
    {"optimizer": "adamw", "learning_rate": 0.01, "weight_decay": 0.5, "hidden_rate": 0.5},
    {"optimizer": "adamw", "learning_rate": 0.01, "weight_decay": 0.2, "clip_norm": 2},
]


def start(place):
    return ((place * place * 5 + 3) % 17 - 8) / 16


def gradient(step, place):
    return ((step * 31 + place * 17 + step * step * place) % 211 - 105) / 128


def make(case, groups):
    decay, rate = case.get("weight_decay", 0), case["learning_rate"]
    if case["optimizer"] in ("sgd", "nesterov"):
        return torch.optim.SGD(groups, lr=rate, momentum=case.get("momentum", 0.9), weight_decay=decay,
                               nesterov=case["optimizer"] == "nesterov", foreach=False)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[case["optimizer"]]
    return kind(groups, lr=rate, betas=(case.get("beta1", 0.9), case.get("beta2", 0.999)),
                eps=case.get("epsilon", 1e-8), weight_decay=decay, foreach=False)


def run(case):
    tensors, groups, first = {}, [], 0
    for name, size in SIZES.items():
        tensors[name] = torch.nn.Parameter(torch.tensor([start(first + i) for i in range(size)], dtype=torch.float32))
        group = {"params": [tensors[name]]}
        if name.startswith("layer"):
            group["lr"] = case["learning_rate"] * case.get("hidden_rate", 1)
        if name in ("layer1.b_s", "c"):
            group["weight_decay"] = 0
        groups.append(group)
        first += size
    optimizer, kept = make(case, groups), {}
    for step in range(STEPS):
        first = 0
        for tensor in tensors.values():
            size = tensor.numel()
            tensor.grad = torch.tensor([gradient(step, first + i) for i in range(size)], dtype=torch.float32)
            first += size
        if "clip_norm" in case:
            torch.nn.utils.clip_grad_norm_(tensors.values(), case["clip_norm"])
        optimizer.step()
        if step + 1 in KEPT:
            kept[str(step + 1)] = {name: tensor.tolist() for name, tensor in tensors.items()}
    return {"settings": case, "after": kept}


if __name__ == "__main__":
    cases = ",\n".join(json.dumps(run(case)) for case in CASES)
    print(f'{{"made_by": "tests/train/torch_optimizers.py, PyTorch {torch.__version__}",\n"cases": [\n{cases}\n]}}')
