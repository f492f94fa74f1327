/** How a stream ends: billed once, whatever ended it, and the client told where it did not end well. */
import type { EndReason } from '../../contract/enums.ts';
import { createDeadlines } from '../shared/deadlines.ts';
import { type DeliveredText, nothingDelivered } from '../shared/delivered-text.ts';
import { isWholeBill, type OpenStream } from '../upstream/open-stream.ts';
import { thoughtTime } from '../upstream/thinking.ts';
import type { ClientSide } from './client-side.ts';
import type { PumpOptions } from './stream-options.ts';
import type { Watchdog } from './watchdog.ts';

const patience = createDeadlines(250);

export interface Ending {
  /** Resolves when the bill is settled; only the first call makes one. */
  end(opened: OpenStream, reason: EndReason, failure?: string): Promise<void>;
  /** What the client is told when it does not end well. */
  bad(kind: 'broken' | 'failed'): string;
  /** Ends the stream at a word. @param delivered without the frame that would have completed it. */
  cutAtWord(opened: OpenStream, delivered: DeliveredText): Promise<void>;
  /** Ends the stream for want of quota. */
  cutForQuota(opened: OpenStream): Promise<void>;
}

export function createEnding(
  options: PumpOptions,
  client: Pick<ClientSide, 'write' | 'ping' | 'calm'>,
  watchdog: Pick<Watchdog, 'settled'>,
): Ending {
  const { departure, now } = options;
  let settled = false;
  const end = async (
    opened: OpenStream,
    reason: EndReason,
    failure?: string,
    words: () => DeliveredText = opened.frameRelay.words,
  ): Promise<void> => {
    if (settled) return;
    settled = true;
    watchdog.settled();
    client.calm();
    const { frameRelay } = opened;
    // What came with the end or behind it is the whole bill, however the stream ended.
    const whole = isWholeBill(frameRelay, reason === 'completed');
    // Read to its end for the sake of the bill alone.
    const unbroken = reason !== 'completed' && departure.cutBy() !== null ? 'stopped' : reason;
    // Words that were read to find out may have brought a later report.
    const usage = frameRelay.usage();
    const endReason = reason === 'completed' && departure.gone() ? 'client_gone' : unbroken;
    const sign = () => {
      client.ping();
      calm = patience.start(options.commitPingMs, sign);
    };
    let calm = patience.start(options.commitPingMs, sign);
    try {
      await options.finish({
        endReason,
        usage,
        usageSource: usage === null ? null : whole ? 'reported' : 'partial',
        delivered: whole ? nothingDelivered : words(),
        thought: whole || reason === 'completed' || !options.thinks(opened) ? null : thoughtTime(opened, now()),
        firstByteMs: opened.firstByteMs ?? now(),
        ...(failure === undefined ? {} : { failure }),
        finishReason: () => opened.frameRelay.finish()?.reason ?? null,
      });
    } finally {
      calm.end();
    }
  };
  return {
    end,
    bad: (kind) => options.errorFrame(departure.cutBy() === null ? kind : 'stopped'),
    async cutAtWord(opened, delivered) {
      departure.upstream.abort();
      await end(opened, 'word_cut', undefined, () => delivered);
      client.write(options.errorFrame('word'));
    },
    async cutForQuota(opened) {
      departure.upstream.abort();
      await end(opened, 'quota_cut');
      client.write(options.errorFrame('quota'));
    },
  };
}
