import { z } from 'zod'
import { parseBytes } from '../bytes.ts'
import { UsageError } from '../exit.ts'

/** What the value of a setting may be, wherever it comes from. */
export interface ValueKind<Value> {
  /** For the reference. */
  readonly is: string
  /** What the TOML file may hold. Its text is then parsed as that of a flag is. */
  readonly schema: z.ZodType<string | number | boolean | readonly string[]>
  /** Its flag may be repeated; by commas elsewhere. */
  readonly isList?: true
  /** Throws a `UsageError` that says what to write. `name` is that of the setting. */
  parse(text: string, name: string): Value
}

const portSchema = z.int().min(0).max(65_535)

export const text: ValueKind<string> = { is: 'text', schema: z.string().min(1), parse: (said) => said }

export const file: ValueKind<string> = { ...text, is: 'the path of a file' }

/** Given by its flag alone; the environment says `true` or `false`. */
export const aSwitch: ValueKind<boolean> = {
  is: 'true or false',
  schema: z.boolean(),
  parse: (said) => said === 'true',
}

export const port: ValueKind<number> = {
  is: 'a whole number, 0 to 65535',
  schema: portSchema,
  parse(said) {
    const checked = portSchema.safeParse(/^\d+$/.test(said) ? Number(said) : undefined)
    if (checked.success) return checked.data
    throw new UsageError(`'${said}' is not a port; use 0 (any free one) to 65535`)
  },
}

export const hostNames: ValueKind<readonly string[]> = {
  is: 'names; by commas, in the file a list',
  isList: true,
  schema: z.array(z.string()),
  parse(said) {
    const names = said.split(',').map((name) => name.trim())
    for (const name of names) {
      if (/^[^\s/:*]+$/.test(name)) continue
      throw new UsageError(`'${name}' is not the name of a host; write it alone, without port or scheme: baton.example`)
    }
    return names
  },
}

export function bytesUpTo(max: number): ValueKind<number> {
  return {
    is: 'bytes, like 16384 or 64KiB',
    schema: z.int().or(z.string()),
    parse: (said) => parseBytes(said, { max }),
  }
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]): ValueKind<Choice> {
  return {
    is: choices.join(', '),
    schema: z.enum(choices),
    parse(said, name) {
      const choice = choices.find((each) => each === said)
      if (choice !== undefined) return choice
      throw new UsageError(`${name} is '${said}'; use ${choices.join(' or ')}`)
    },
  }
}
