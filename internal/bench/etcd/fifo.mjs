// Checks that the grants of one key were in the order of its queue.

/**
 * Every hold has its `fence`, its `place` in the queue (0 if it was granted at once), and, by the clock that all processes share, when it
 * asked (`askedMs`), learned its place or its grant (`answeredMs`), began to release and had released. If nobody leaves the queue, a
 * waiter at place 3 gets the third grant after the one that was live when it queued. So the number of that live grant is known; it never
 * decreases from one grant to the next, and the grant was live at some time between the request and its answer. Returns all contradictions.
 */
export function outOfOrder(holds) {
  const inOrder = holds.toSorted((a, b) => a.fence - b.fence)
  const broken = []
  let before = 0
  for (const [number, hold] of inOrder.entries()) {
    const { fence, place, askedMs, answeredMs } = hold
    const live = number - place
    if (inOrder[number - 1]?.fence === fence) broken.push(`fence ${fence} was granted twice`)
    if (live < before) broken.push(`fence ${fence} came after a waiter that had queued later`)
    before = Math.max(before, live)
    // Grant `live` began after the one before it was released, and had not ended when this one asked.
    const isTooEarly = live > 0 && answeredMs < inOrder[live - 1].releasingMs
    const isTooLate = live < number && askedMs > (inOrder[live]?.releasedMs ?? -Infinity)
    if (live < 0 || isTooEarly || isTooLate) broken.push(`fence ${fence} did not queue at place ${place}`)
  }
  return broken
}
