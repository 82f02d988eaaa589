/** An IPv4 address; of an IPv6 address the first half, as whoever has one has all of those. */
export function networkOf(address: string): string {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (v4 !== undefined) return v4
  const [before = '', after = ''] = address.split('::')
  const groupsIn = (text: string) => (text === '' ? [] : text.split(':'))
  const zeros = Array(Math.max(0, 8 - groupsIn(before).length - groupsIn(after).length)).fill('0')
  return `${[...groupsIn(before), ...zeros, ...groupsIn(after)].slice(0, 4).join(':')}::/64`
}
