import {
  asIs,
  chat,
  chatting,
  echo,
  grpcClient,
  grpcServer,
  pour,
  pouring,
  sizeOf,
  unary,
} from '@baton-lock/test-support/grpc-world'
import { Metadata } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'

const MiB = 1024 * 1024

describe('a client of grpc-js', () => {
  test('is answered, whatever the size of the message', async () => {
    const { path } = await grpcServer({ '/t/Echo': echo })
    const client = grpcClient(path)
    for (const bytes of [0, 1, 5, 16_379, 16_384, 65_535, 8 * MiB]) {
      const request = Buffer.alloc(bytes, 'abcdefg')
      expect((await unary(client, '/t/Echo', request)).equals(request)).toBe(true)
    }
  })

  test('is answered on 200 calls at a time', async () => {
    const { path } = await grpcServer({ '/t/Echo': echo })
    const client = grpcClient(path)
    const requests = Array.from({ length: 200 }, (_, index) => Buffer.alloc(1_000 + index * 97, index))
    const replies = await Promise.all(requests.map((request) => unary(client, '/t/Echo', request)))
    expect(replies.every((reply, index) => reply.equals(requests[index]!))).toBe(true)
  })

  test('gets a stream that is larger than its windows, in order', async () => {
    const { path } = await grpcServer({ '/t/Pour': pour })
    const seen: number[] = []
    for await (const each of pouring(grpcClient(path), 8 * MiB)) seen.push(each[0]!)
    expect(seen).toEqual(Array.from({ length: 128 }, (_, index) => index))
  })

  test('gets several such streams at a time', async () => {
    const { path } = await grpcServer({ '/t/Pour': pour })
    const client = grpcClient(path)
    const sizes = await Promise.all(Array.from({ length: 10 }, () => sizeOf(pouring(client, 2 * MiB))))
    expect(sizes).toEqual(Array(10).fill(2 * MiB))
  })

  test('talks both ways, and the end of what it says is the end of the messages', async () => {
    const { path } = await grpcServer({ '/t/Chat': chat })
    const call = chatting(grpcClient(path))
    const replies: string[] = []
    call.on('data', (reply: Buffer) => replies.push(reply.toString()))
    const ended = new Promise((resolve) => call.on('end', resolve))
    for (const word of ['one', 'two', 'three']) call.write(Buffer.from(word))
    call.end()
    await ended
    expect(replies).toEqual(['one', 'two', 'three'])
  })

  test('gets an answer without a message', async () => {
    const { path } = await grpcServer({ '/t/Pour': pour })
    expect(await sizeOf(pouring(grpcClient(path), 0))).toBe(0)
  })

  test('sends trailers and other metadata of its own', async () => {
    const { path } = await grpcServer({ '/t/Echo': echo })
    const metadata = new Metadata()
    for (let each = 0; each < 20; each++) metadata.set(`x-${each}`, 'y'.repeat(each * 10))
    const reply = new Promise((resolve) => {
      grpcClient(path).makeUnaryRequest('/t/Echo', asIs, asIs, Buffer.from('a'), metadata, (_, value) => resolve(value))
    })
    expect(await reply).toEqual(Buffer.from('a'))
  })
})
