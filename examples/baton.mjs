// The URL of a server, or of a store without a server: the rest of a program is the same.
import { connect, open } from 'baton-lock'

const { BATON_URL = 'http://127.0.0.1:8086', BATON_NODE: node, BATON_NAMESPACE: namespace } = process.env
const { TTL_MS = '30000', RESULT_LIMIT } = process.env
const options = { node, namespace, ttlMs: Number(TTL_MS), ...(RESULT_LIMIT && { resultLimit: Number(RESULT_LIMIT) }) }
export const baton = await (BATON_URL.startsWith('http') ? connect : open)(BATON_URL, options)
