"""Sends a published folder to a dataset repository on the Hugging Face Hub."""

from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from hfr_bench.errors import InfrastructureError


def push(folder: Path, repo: str, *, endpoint: str | None = None, token: str | None = None) -> str:
    """Create the repository if it is not there, and send the folder as one commit; its address.

    Args:
        folder: as `layout.publish` made it.
        repo: owner/name.
        endpoint: of the Hub; None takes $HF_ENDPOINT, or the public one.
        token: None takes $HF_TOKEN, or what `hf auth login` left.

    Raises InfrastructureError if the Hub cannot be reached or refuses.
    """
    api = HfApi(endpoint=endpoint, token=token)
    try:
        api.create_repo(repo, repo_type="dataset", exist_ok=True)
        done = api.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=folder,
            commit_message="Published by hfr-bench",
        )
    except (HfHubHTTPError, OSError, ValueError) as error:
        told = str(error).strip().splitlines() or [type(error).__name__]
        raise InfrastructureError(
            f"{repo}: not pushed: {told[0]}; {folder} is complete, push it again"
        ) from error
    return str(done.commit_url)
