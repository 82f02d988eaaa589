export { runCli } from './cli.ts'
export type { ServeConfig, Token } from './config/serve-config.ts'
export type { CliContext, RunningServer, StoreMaintenance, Wiring } from './context.ts'
export { EXIT, Exit, UsageError } from './exit.ts'
