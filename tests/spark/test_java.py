"""How a Java for Spark is found, or installed: with stand-ins for java, apt-get and who runs it."""

import os
import subprocess
from pathlib import Path

import pytest

JAVA = Path(__file__).parents[2] / "tools" / "java"


class Machine:
    """A folder with the programs that there are, and one with what is installed."""

    def __init__(self, home: Path) -> None:
        self.programs, self.installed = home / "bin", home / "jvm"
        self.programs.mkdir()
        self.installed.mkdir()
        for name in ("bash", "sed", "head", "grep", "readlink", "env", "mkdir", "cat", "chmod", "touch"):
            found = next(path for folder in os.defpath.split(":") if (path := Path(folder) / name).exists())
            (self.programs / name).symlink_to(found)
        self.program("id", "echo 1000")

    def program(self, name: str, script: str) -> None:
        self.script(self.programs / name, script)

    @staticmethod
    def script(path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def java(self, home: str, version: str, modules: str = "jdk.incubator.vector") -> Path:
        self.script(self.installed / home / "bin" / "java", java_script(version, modules))
        return self.installed / home

    def run(self, what: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.programs), "JVM_HOMES": str(self.installed), **environment}
        return subprocess.run([JAVA, what], env=env, capture_output=True, text=True, check=False)


def java_script(version: str, modules: str) -> str:
    said = f'openjdk version "{version}" 2025-04-15'
    return f"if [[ $1 == -version ]]; then echo '{said}' >&2; else echo '{modules}@17'; fi"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_one_of_java_home_comes_first_then_that_of_path_then_any(machine: Machine) -> None:
    assert machine.run("find").returncode == 1
    any_other = machine.java("java-17", "17.0.15")
    assert machine.run("find").stdout.strip() == str(any_other)
    on_path = machine.java("zulu-21", "21.0.1")
    (machine.programs / "java").symlink_to(on_path / "bin" / "java")
    assert machine.run("find").stdout.strip() == str(on_path)
    own = machine.java("own", "17.0.2")
    assert machine.run("find", JAVA_HOME=str(own)).stdout.strip() == str(own)


@pytest.mark.parametrize(
    ("version", "modules"),
    [("11.0.2", "jdk.incubator.vector"), ("25", "jdk.incubator.vector"), ("17.0.1", "java.base")],
)
def test_one_that_spark_cannot_use_is_passed_over(machine: Machine, version: str, modules: str) -> None:
    wrong = machine.java("wrong", version, modules)
    assert machine.run("find", JAVA_HOME=str(wrong)).returncode == 1
    right = machine.java("right", "17.0.2")
    assert machine.run("find", JAVA_HOME=str(wrong)).stdout.strip() == str(right)


def test_who_may_gets_one_installed(machine: Machine) -> None:
    machine.program("id", "echo 0")
    target = machine.installed / "java-17"
    made = java_script("17.0.15", "jdk.incubator.vector")
    machine.program(
        "apt-get",
        f"""[[ "$*" == *"install -y --no-install-recommends openjdk-17-jre-headless"* ]] || exit 0
mkdir -p {target}/bin
cat > {target}/bin/java <<'END'
#!/bin/bash
{made}
END
chmod +x {target}/bin/java""",
    )
    offered = machine.run("offer")
    assert offered.returncode == 0 and offered.stdout.strip() == str(target)
    assert "installing openjdk-17-jre-headless, which Spark needs" in offered.stderr
    assert machine.run("offer").stderr == "", "the second time it is there"


@pytest.mark.parametrize("is_root", [False, True])
def test_who_may_not_or_cannot_is_told_what_to_do(machine: Machine, is_root: bool) -> None:
    machine.program("apt-get", "echo 'no network' >&2; exit 100")
    if is_root:
        machine.program("id", "echo 0")
    offered = machine.run("offer")
    assert offered.returncode == 1 and not offered.stdout
    assert "sudo apt-get update && sudo apt-get install -y openjdk-17-jre-headless" in offered.stderr
    assert ("no network" in offered.stderr) == is_root
