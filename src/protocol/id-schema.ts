import { z } from 'zod'
import { ID_MAX_BYTES, isId } from './ids.ts'

/** The name of that rule in JSON schemas. */
export const ID_FORMAT = 'baton-id'

const rule = `must be 1 to ${ID_MAX_BYTES} bytes of UTF-8 text without control characters`

export const idSchema = z
  .string()
  .min(1, rule)
  .max(ID_MAX_BYTES, rule)
  .refine(isId, rule)
  .describe(`1 to ${ID_MAX_BYTES} bytes, no control characters`)
  .meta({ format: ID_FORMAT })
