# Functions for all scripts: messages, and checks for Python, the JDK and an installed .venv.
# Sourced by the scripts in the parent folder, from the root of the project.

readonly VENV=.venv

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $1"
  shift
  local line
  for line in "$@"; do say "$line"; done
  exit 1
}

# Sets PYTHON to a Python 3.11 or later: $PYTHON if set, else the first on PATH.
need_python() {
  local candidate candidates=(python3.11 python3.12 python3.13 python3 python)
  if [ -n "${PYTHON:-}" ]; then candidates=("$PYTHON"); fi
  for candidate in "${candidates[@]}"; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      PYTHON=$candidate
      return
    fi
  done
  die "Duolog needs Python 3.11 or later, with venv and pip; tried ${candidates[*]}" \
    "hint: install the packages python3.11 and python3.11-venv (Debian, Ubuntu), python3.11 (Fedora)" \
    "      or python@3.11 (macOS, Homebrew)," \
    "      or set PYTHON to the path of such a Python."
}

# Checks for javac 17 or later in JAVA_HOME, else on PATH.
need_jdk() {
  local javac=javac found version
  if [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/javac" ]; then javac=$JAVA_HOME/bin/javac; fi
  found=$(env -u JAVA_TOOL_OPTIONS -u JDK_JAVA_OPTIONS "$javac" -version 2>&1) || found="no $javac"
  version=${found#javac }
  version=${version%%.*}
  if [[ $version =~ ^[0-9]+$ ]] && [ "$version" -ge 17 ]; then return; fi
  die "Duolog needs a JDK 17 or later (Spark runs on it, and javac compiles the kernel); found $found" \
    "hint: install the package openjdk-17-jdk-headless (Debian, Ubuntu), java-17-openjdk-devel (Fedora)" \
    "      or the cask temurin@17 (macOS, Homebrew)," \
    "      or set JAVA_HOME to the folder of a JDK."
}

# Runs scripts/install, which returns at once if nothing has changed.
need_installed() { scripts/install --quiet; }
