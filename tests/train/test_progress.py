"""The line a person watches during training."""

from train.progress import progress_line


def test_sft_line() -> None:
    logs = {"loss": 1.51271, "grad_norm": 1.43, "mean_token_accuracy": 0.6123, "learning_rate": 1.0}
    assert progress_line(logs, 35, 150) == (
        "step 35/150  loss 1.5127  token accuracy 61.2%  grad norm 1.43"
    )


def test_grpo_line_shows_terms_and_leaves_the_loss_out() -> None:
    logs = {
        "loss": 0.0,
        "reward": 0.71,
        "rewards/struct/mean": 1.0,
        "rewards/seg/mean": 0.5,
        "rewards/emo/mean": None,
        "frac_reward_zero_std": 0.25,
        "kl": 0.0123,
    }
    assert progress_line(logs, 3, 100) == (
        "step 3/100  reward 0.710 (struct 1.00 seg 0.50)  groups without spread 25%  kl 0.0123"
    )


def test_the_closing_log_has_no_line() -> None:
    assert progress_line({"train_runtime": 3.2, "train_loss": 0.4}, 100, 100) is None
