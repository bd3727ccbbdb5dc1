"""What the images of a desktop are made of: `shell`, which has no screen, and `gui`."""

from enum import StrEnum
from pathlib import Path

from hfr_bench import content
from hfr_bench.ports.sandbox import ImageSpec

GUEST = Path(__file__).parent / "guest"
"""Our server, as it is put into an image and started here."""


class Profile(StrEnum):
    """How much of a desktop there is.

    - shell: files and commands; what needs a screen is refused. Small, and ready at once.
    - gui: a screen, a window manager, an accessibility bus, and programs of Debian.
    """

    SHELL = "shell"
    GUI = "gui"


GUI_PACKAGES = (
    *("xvfb", "openbox", "xauth", "x11-utils", "x11-xserver-utils", "xdotool", "wmctrl", "xclip"),
    *("dbus", "dbus-x11", "at-spi2-core", "libatk-adaptor", "python3-pyatspi", "python3-tk"),
    *("gir1.2-gtk-3.0", "adwaita-icon-theme", "fonts-dejavu-core", "fonts-liberation"),
    *("libglib2.0-bin", "dconf-gsettings-backend", "dconf-cli", "gsettings-desktop-schemas"),
    *("gnome-settings-daemon-common", "gnome-shell-common"),
    *("chromium", "libreoffice-calc", "libreoffice-writer", "libreoffice-gtk3"),
    *("lxterminal", "xterm", "mousepad", "xdg-utils", "desktop-file-utils", "shared-mime-info"),
    *("libfaketime", "procps", "file", "bc", "sqlite3", "zip", "unzip"),
)


def image_spec(profile: Profile) -> ImageSpec:
    """Our server on the project's base image; `gui`: with a screen and programs besides."""
    folder = content.root() / "suites" / "osworld" / "guest"
    text = (folder / f"Dockerfile.{profile}").read_text(encoding="utf-8")
    if profile is Profile.SHELL:
        return ImageSpec("osworld-shell", text, {"guest": GUEST})
    return ImageSpec(
        "osworld-gui",
        text,
        {"guest": GUEST, "desktop": folder / "desktop"},
        requirements=folder / "requirements-gui.txt",
        packages=GUI_PACKAGES,
        needs_mib=4096,
    )
