#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { EXIT, isOutOfFiles, OUT_OF_FILES } from './cli/exit-codes.ts'

try {
  // Loaded here and not above: if there are too few files to load the program, that is a sentence too.
  const [{ runProgram }, { openStore }] = await Promise.all([import('./program.ts'), import('./store-table.ts')])
  await runProgram({ entry: fileURLToPath(import.meta.url), openStore })
} catch (error) {
  if (!isOutOfFiles(error)) throw error
  process.stderr.write(`baton: ${OUT_OF_FILES}\n`)
  process.exitCode = EXIT.unreachable
}
