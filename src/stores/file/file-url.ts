/** The directory that `file:DIR` names: as it stands there, or the path of a whole file URL. */
export function directoryOf(url: string): string {
  const directory = url.replace(/^file:/, '').replace(/^\/\/(?=\/)/, '')
  if (directory === '' || directory.startsWith('//')) {
    throw new TypeError(`'${url}' names no directory of this machine; write file:DIR, e.g. file:./baton-data`)
  }
  return directory
}
