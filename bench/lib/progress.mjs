/** One line that is written over, on a terminal; without a sentence it goes. Off a terminal, a line each. */
export function progress(sentence) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${sentence ?? ''}`)
  else if (sentence) process.stderr.write(`${sentence}\n`)
}
