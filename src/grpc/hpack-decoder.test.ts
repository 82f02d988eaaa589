import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConnectionError } from './frame.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { EMPTY_TABLE, headerBlock } from './hpack-encoder.ts'

const decoderOf = (tableBytes = 4_096, listBytes = 65_536) => new HpackDecoder({ tableBytes, listBytes })
const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')

function decoded(decoder: HpackDecoder, block: Buffer): string[] {
  const fields = decoder.decode(block)
  if (fields === 'too-large') throw new Error(fields)
  return fields.map(({ name, value }) => `${name}: ${value}`)
}

const REQUESTS = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
  [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'],
]

const at = (second: number) => `date: Mon, 21 Oct 2013 20:13:${second} GMT`
const LOCATION = 'location: https://www.example.com'
const RESPONSES = [
  [':status: 302', 'cache-control: private', at(21), LOCATION],
  [':status: 307', 'cache-control: private', at(21), LOCATION],
  [
    ':status: 200',
    'cache-control: private',
    at(22),
    LOCATION,
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
]

describe('the examples of RFC 7541, appendix C', () => {
  test.each([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key: custom-header', 55],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', ':path: /sample/path', 0],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password: secret', 0],
    ['C.2.4', '82', ':method: GET', 0],
  ])('%s: one field', (_, hex, field, tableSize) => {
    const decoder = decoderOf()
    expect(decoded(decoder, bytesOf(hex))).toEqual([field])
    expect(decoder.tableSize).toBe(tableSize)
  })

  test.each([
    [
      'C.3: requests',
      4_096,
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
      REQUESTS,
      [57, 110, 164],
    ],
    [
      'C.4: requests with Huffman',
      4_096,
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
      REQUESTS,
      [57, 110, 164],
    ],
    [
      'C.5: responses, with eviction',
      256,
      [
        `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
         2076 6572 7369 6f6e 3d31`,
      ],
      RESPONSES,
      [222, 222, 215],
    ],
    [
      'C.6: responses with Huffman, with eviction',
      256,
      [
        `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7
         8f0b 97c8 e9ae 82ae 43d3`,
        '4883 640e ffc1 c0bf',
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      ],
      RESPONSES,
      [222, 222, 215],
    ],
  ])('%s', (_, tableBytes, blocks, expected, sizes) => {
    const decoder = decoderOf(tableBytes)
    for (const [index, hex] of blocks.entries()) {
      expect(decoded(decoder, bytesOf(hex.replaceAll(/\s/g, '')))).toEqual(expected[index])
      expect(decoder.tableSize).toBe(sizes[index])
    }
  })
})

describe('a table', () => {
  const custom = bytesOf('400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65')

  test('is emptied by a smaller size, and used again after a larger one', () => {
    const decoder = decoderOf()
    decoder.decode(custom)
    expect(decoder.tableSize).toBe(54)
    expect(decoded(decoder, bytesOf('20 82'))).toEqual([':method: GET'])
    expect(decoder.tableSize).toBe(0)
    expect(() => decoder.decode(bytesOf('be'))).toThrow(ConnectionError)
    // 4096, the most that was allowed.
    decoder.decode(Buffer.concat([bytesOf('3fe11f'), custom]))
    expect(decoded(decoder, bytesOf('be'))).toEqual(['custom-key: custom-value'])
  })

  test('is emptied by a field that is larger than itself', () => {
    const decoder = decoderOf(60)
    decoder.decode(custom)
    expect(decoded(decoder, Buffer.concat([bytesOf('40 01 61 1e'), Buffer.alloc(30, 'v')]))).toHaveLength(1)
    expect(decoder.tableSize).toBe(0)
  })

  test('goes on with what a list that is too large has put into it', () => {
    const decoder = decoderOf(4_096, 100)
    expect(decoder.decode(Buffer.concat([custom, custom]))).toBe('too-large')
    expect(decoded(decoder, bytesOf('bf'))).toEqual(['custom-key: custom-value'])
  })
})

describe('a block is refused', () => {
  test.each([
    ['with an index of 0', '80'],
    ['with an index beyond both tables', 'be'],
    ['with the name of a field that is not there', '7f00 0161'],
    ['that ends within a string', '0005 6162'],
    ['that ends within a number', 'ff'],
    ['with a number without end', 'ffffffffffffff7f'],
    ['that makes the table larger than allowed', '3fe21f'],
    ['that changes the table after a field', '8220'],
    ['with padding of a whole byte', '0085 25a8 49e9 ff 00'],
    ['with padding of zeros', '0081 18 00'],
    ['with the end of the string in it', '0084 ffffffff 00'],
  ])('%s', (_, hex) => {
    expect(() => decoderOf().decode(bytesOf(hex))).toThrow(ConnectionError)
  })

  test('or read, whatever its bytes are, and nothing else happens', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (blocks) => {
        const decoder = decoderOf()
        try {
          for (const block of blocks) decoder.decode(Buffer.from(block))
        } catch (error) {
          expect(error).toBeInstanceOf(ConnectionError)
        }
        expect(decoder.tableSize).toBeLessThanOrEqual(4_096)
      }),
      { numRuns: 2_000 },
    )
  })
})

test('what a server sends is read as it was meant, of any length', () => {
  const long = 'm'.repeat(5_000)
  const fields: [string, string][] = [
    [':status', '200'],
    [':status', '415'],
    ['grpc-status', '5'],
    ['grpc-message', 'x'.repeat(127)],
    ['grpc-message', long],
    ['empty', ''],
  ]
  const block = Buffer.concat([EMPTY_TABLE, headerBlock(fields)])
  expect(decoded(decoderOf(), block)).toEqual(fields.map(([name, value]) => `${name}: ${value}`))
})
