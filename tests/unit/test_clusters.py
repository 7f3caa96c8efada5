"""`cluster.yaml` and the manifests for Kubernetes: what Ray's own validation takes, and nothing secret in them."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped] # comes with Ray, without types
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).resolve().parents[2]
CLUSTER, KUBERAY = ROOT / "cluster.yaml", ROOT / "docs" / "deploy" / "kuberay.yaml"

GIVEN = {
    "AWS_REGION": "eu-central-1",
    "WOW_RAY_APP": "shop:app",
    "WOW_RAY_CLUSTER": "shop",
    "WOW_RAY_HEAD": "m6i.large",
    "WOW_RAY_IMAGE": "example/shop:1",
    "WOW_RAY_PROGRAM": "https://example.com/shop.zip",
    "WOW_RAY_RELEASE": "r1",
    "WOW_RAY_SECRETS": "/etc",
    "WOW_RAY_WORKER": "m6i.xlarge",
}


def filled(path: Path) -> str:
    """Put the environment in, as `envsubst` does with the names that the file's head lists."""
    return Template(path.read_text(encoding="utf-8")).safe_substitute(GIVEN)


def test_ray_takes_the_cluster_and_refuses_what_it_does_not_know() -> None:
    """`ray up` begins with this: defaults are filled in, then its own schema is applied."""
    config = yaml.safe_load(filled(CLUSTER))
    validate_config(prepare_config(dict(config)))

    with pytest.raises(Exception, match="workers_at_most"):
        validate_config(prepare_config({**config, "workers_at_most": 3}))


def test_the_cluster_grows_from_one_worker_and_shrinks() -> None:
    """The head never is a worker; the address of Postgres is a file, synced to every node."""
    config = yaml.safe_load(filled(CLUSTER))
    types = config["available_node_types"]

    assert config["head_node_type"] == "head"
    assert (types["head"]["max_workers"], types["worker"]["min_workers"]) == (0, 1)
    assert types["worker"]["max_workers"] == config["max_workers"] > 1
    assert config["idle_timeout_minutes"] * 60 > 60
    ((inside, outside),) = config["file_mounts"].items()
    assert outside == GIVEN["WOW_RAY_SECRETS"]
    assert f"--env WOW_RAY_POSTGRES_DSN_FILE={inside}/dsn" in config["docker"]["run_options"]


def manifests() -> dict[str, Any]:
    """Give the manifests by kind."""
    return {each["kind"]: each for each in yaml.safe_load_all(filled(KUBERAY))}


def test_pods_find_the_address_of_postgres_in_a_secret() -> None:
    """Head and workers alike; the variable names the file that the secret is mounted as."""
    spec = manifests()["RayCluster"]["spec"]
    pods = [spec["headGroupSpec"]["template"]["spec"], *(each["template"]["spec"] for each in spec["workerGroupSpecs"])]

    assert len(pods) == 2
    for pod in pods:
        (container,) = pod["containers"]
        environ = {each["name"]: each["value"] for each in container["env"]}
        (mount,) = container["volumeMounts"]
        (volume,) = pod["volumes"]
        assert environ["WOW_RAY_POSTGRES_DSN_FILE"] == f"{mount['mountPath']}/dsn"
        assert (mount["name"], mount["readOnly"]) == (volume["name"], True)
        assert volume["secret"] == {"secretName": "wow-ray", "defaultMode": 0o400}
        assert container["image"] == GIVEN["WOW_RAY_IMAGE"]
    (workers,) = spec["workerGroupSpecs"]
    assert spec["enableInTreeAutoscaling"] is True
    assert workers["minReplicas"] <= workers["replicas"] < workers["maxReplicas"]


def test_a_release_is_a_job_on_the_cluster_that_stays_when_it_ends() -> None:
    """Its files are the job's own, so two releases run beside each other while one takes over."""
    found = manifests()
    job = found["RayJob"]["spec"]

    assert job["clusterSelector"] == {"ray.io/cluster": found["RayCluster"]["metadata"]["name"]}
    assert job["entrypoint"] == "wow-ray up shop:app --release r1"
    assert yaml.safe_load(job["runtimeEnvYAML"]) == {"working_dir": GIVEN["WOW_RAY_PROGRAM"]}
    assert job["shutdownAfterJobFinishes"] is False


@pytest.mark.parametrize("path", [CLUSTER, KUBERAY], ids=lambda path: path.name)
def test_nothing_is_written_into_the_files_that_is_somebodys_own(path: Path) -> None:
    """Every variable in them is named in their head, for `envsubst`; no address and no password is in them."""
    text = path.read_text(encoding="utf-8")
    head = re.search(r"envsubst '([^']*)'", text)
    assert head is not None

    assert set(re.findall(r"\$\{(\w+)\}", text)) == set(head[1].replace("$", "").split())
    assert not re.search(r"postgres(ql)?://|password|AKIA|\d+\.dkr\.ecr", text)
