"""The files of the console, the page that a browser shows at `/console`.

bundle.py    reads them: built by `console/build.mjs`, or installed as the package `duolog_console`
page.py      the page with its headers, for every path of a screen

The sources are in the folder `console/` of the repository (TypeScript). The page itself uses only
the server's public routes. See ADR 0146.
"""
