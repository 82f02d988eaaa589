/*
 * What checks input. Apart from the rest of the protocol: to load the library behind it takes longer than a whole command
 * line needs, and a client over HTTP never does.
 */
export { idSchema } from './id-schema.ts'
export { policySchema, requestSchemas } from './requests.ts'
export { tokensSchema } from './token-schema.ts'
