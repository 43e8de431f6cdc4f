"""An ordinary Lightning training: two nodes of one process each by default."""

import argparse

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)

    def training_step(self, batch, batch_index):
        inputs, targets = batch
        loss = nn.functional.mse_loss(self.net(inputs), targets)
        self.log("loss", loss, sync_dist=True, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--devices", type=int, default=1, help="processes of each node")
    args = parser.parse_args()

    L.seed_everything(7)
    inputs = torch.randn(256, 8)
    targets = inputs.sum(dim=1, keepdim=True)
    trainer = L.Trainer(
        accelerator="cpu",
        strategy="ddp",
        num_nodes=args.nodes,
        devices=args.devices,
        max_epochs=3,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Regression(), DataLoader(TensorDataset(inputs, targets), batch_size=16))
    loss = trainer.callback_metrics["loss_epoch"].item()
    environment = type(trainer.strategy.cluster_environment).__name__
    print(f"lightning rank {trainer.global_rank} of {trainer.world_size} in {environment}: "
          f"loss {loss:.4f}", flush=True)
    if loss > 0.1:
        raise SystemExit("did not learn")
    # Lightning leaves this to the interpreter's end, which some ranks do not survive (SIGABRT).
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
