import { expect, test } from 'vitest'
import { networkOf } from './network.ts'

test('an IPv4 address is a network of its own, however it is written', () => {
  for (const address of ['10.1.1.1', '::ffff:10.1.1.1', '::FFFF:10.1.1.1']) expect(networkOf(address)).toBe('10.1.1.1')
})

test('of an IPv6 address the first half is the network', () => {
  for (const last of ['1', '2', 'ffff', '1:2:3:4', '0'])
    expect(networkOf(`2001:db8:0:1::${last}`)).toBe('2001:db8:0:1::/64')
  expect(networkOf('2001:db8:0:2::1')).toBe('2001:db8:0:2::/64')
  expect(networkOf('::1')).toBe('0:0:0:0::/64')
})
