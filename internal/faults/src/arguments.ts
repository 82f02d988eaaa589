import { type ParseArgsConfig, parseArgs } from 'node:util'

type Parsed<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>

/** The arguments of this program. `--help` prints its usage; whatever it does not know is refused with the usage, and exit code 64. */
export function argumentsOf<const Config extends ParseArgsConfig>(usage: string, config: Config): Parsed<Config> {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${usage.trim()}\n`)
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage.trim()}\n`)
    process.exit(64)
  }
}
