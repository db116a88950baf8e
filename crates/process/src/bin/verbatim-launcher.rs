//! A launcher on its own: what `verbatim launcher` is, without the rest.

fn main() -> std::process::ExitCode {
    verbatim_process::launcher::main()
}
