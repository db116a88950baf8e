//! For tests: the launcher of commands and of plug-in workers.

fn main() -> std::process::ExitCode {
    verbatim_process::launcher::main()
}
