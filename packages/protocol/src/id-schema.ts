import { z } from 'zod'
import { ID_MAX_BYTES, isId } from './ids.ts'

const rule = `must be 1 to ${ID_MAX_BYTES} bytes of UTF-8 text without control characters`

/** Any id. A single check, because most fields of a request are ids. */
export const idSchema = z
  .stringFormat('baton-id', isId, { error: ({ code }) => (code === 'invalid_format' ? rule : undefined) })
  .describe(`1 to ${ID_MAX_BYTES} bytes, no control characters`)
  .meta({ minLength: 1, maxLength: ID_MAX_BYTES })
