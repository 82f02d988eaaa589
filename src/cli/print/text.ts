/** Errors and progress are free text of other programs: none of it may move the cursor or end the line. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
}
