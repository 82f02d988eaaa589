// What a program has done, as a line of JSON: in the file that NOTES names, else on stdout.
import { appendFileSync } from 'node:fs'

const { NOTES, BATON_NODE: node } = process.env

/** @param {object} what */
export function note(what) {
  appendFileSync(NOTES ?? process.stdout.fd, `${JSON.stringify({ node, ...what, atMs: Date.now() })}\n`)
}
