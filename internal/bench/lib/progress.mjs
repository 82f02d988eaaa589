/** On a terminal, a line that replaces the one before; without a sentence, it is cleared. Elsewhere, a line each. */
export function progress(sentence) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${sentence ?? ''}`)
  else if (sentence) process.stderr.write(`${sentence}\n`)
}
