interface TarFile {
  readonly path: string
  readonly bytes: Buffer
}

const BLOCK_BYTES = 512

/** A tar archive (ustar) of plain files. The same files always make the same bytes: owner root, and time 0. */
export function tarOf(files: readonly TarFile[]): Buffer {
  const entries = files.flatMap(({ path, bytes }) => [headerOf(path, bytes.length), bytes, paddingOf(bytes.length)])
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK_BYTES)])
}

function headerOf(path: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  header.write(path, 0, 100)
  header.write(octal(0o644, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(size, 11), 124)
  header.write(octal(0, 11), 136)
  // The checksum is summed up as if its own field held blanks.
  header.fill(' ', 148, 156)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)} `, 148)
  return header
}

function paddingOf(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
}
