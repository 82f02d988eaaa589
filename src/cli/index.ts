export { runCli } from './cli.ts'
export type { ServeConfig } from './config/serve-config.ts'
export type { RunningServer, StoreMaintenance } from './context.ts'
export { EXIT, Exit, exitOf, UsageError } from './exit.ts'
