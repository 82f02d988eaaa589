import { z } from 'zod'
import type { SaidPolicy } from '../../core/index.ts'
import { policySchema } from '../../protocol/schemas.ts'
import { checked, parseToml } from '../config/file.ts'
import { readText } from '../config/read-text.ts'
import { UsageError } from '../exit.ts'

const fileSchema = z.union(
  [
    z.strictObject({ version: z.int().min(0).optional(), policy: z.looseObject({ namespaces: z.looseObject({}) }) }),
    z.strictObject({ namespaces: z.looseObject({}) }).transform((policy) => ({ version: undefined, policy })),
  ],
  'it should hold [policy.namespaces.NAME] tables, as `baton policy show` prints them',
)

interface PolicyFile {
  /** The version that it was read at, where it says so. */
  readonly version: number | undefined
  readonly said: SaidPolicy
}

/** What a file says, TOML or JSON, and nothing more: what it does not say is still open. */
export function readPolicyFile(path: string): PolicyFile {
  const text = readText(path)
  const content = text.trimStart().startsWith('{') ? parseJson(text, path) : parseToml(text, path)
  const { version, policy } = checked(fileSchema, content, path)
  return { version, said: checkedSaid(policy, path) }
}

/** As it was said, once the schema has found nothing wrong with it. */
export function checkedSaid(said: unknown, where: string): SaidPolicy {
  checked(policySchema, said, where)
  return said as SaidPolicy
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${path} is not JSON: ${(cause as Error).message}`, { cause })
  }
}
