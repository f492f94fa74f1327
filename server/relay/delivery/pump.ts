/** Carries an upstream's event stream to the client; the last frame waits for the bill. */
import { createDeadlines } from '../shared/deadlines.ts';
import { textBefore } from '../shared/delivered-text.ts';
import { nowhere, reshaped, type Sink, whilePresent } from '../shared/sink.ts';
import type { OpenStream } from '../upstream/open-stream.ts';
import { createClientSide, pinging } from './client-side.ts';
import { createEnding } from './ending.ts';
import { createFrames, type Ends } from './frames.ts';
import type { PumpOptions } from './stream-options.ts';
import { createWatchdog } from './watchdog.ts';

/** A reset overtakes what the client has not read yet. */
const readMs = 50;
const lastWords = createDeadlines(10);

export function relayStream(options: PumpOptions): ReadableStream<Uint8Array> {
  let started = false;
  const start = async (sink: Sink): Promise<void> => {
    if (started) return;
    started = true;
    if ((await pump(options, sink)) !== 'broken off') return;
    await new Promise<void>((resolve) => void lastWords.start(readMs, resolve));
    // The listener resets the connection, and says nothing of it in the log where there is no reason.
    await Promise.reject(null);
  };
  // A client that left before the answer began never pulls, and what it owes would stay open.
  options.departure.onGone(() => void start(nowhere).catch(() => undefined));
  return new ReadableStream({
    type: 'direct',
    pull: start,
    cancel: () => options.departure.leave(),
  } as unknown as UnderlyingDefaultSource<Uint8Array>);
}

/** An error frame was the last that the client got. */
type Ended = 'well' | 'broken off';

async function pump(given: PumpOptions, raw: Sink): Promise<Ended> {
  const { departure } = given;
  let failed = false;
  const options: PumpOptions = {
    ...given,
    errorFrame(kind) {
      failed = true;
      return given.errorFrame(kind);
    },
  };
  const { upstream } = departure;
  const present = whilePresent(raw, () => departure.gone());
  const sink = options.reshape === null ? present : reshaped(present, options.reshape);
  const watchdog = createWatchdog(options, pinging(sink, options.ping));
  const client = createClientSide(options, sink, watchdog);
  const ending = createEnding(options, client, watchdog);
  let stream: OpenStream | null = null;
  const close = (): Ended => {
    if (!failed || !options.breaksOff || departure.gone()) {
      client.end();
      return 'well';
    }
    sink.flush();
    return 'broken off';
  };
  try {
    if (options.opening instanceof Promise) client.ping();
    const opening = options.opening instanceof Promise ? await options.opening : options.opening;
    if (typeof opening === 'string') {
      raw.write(opening);
      raw.end();
      return 'well';
    }
    if (opening === null) {
      client.write(ending.bad('failed'));
      return close();
    }
    stream = opening;
    await carry(options, stream, { client, watchdog, ending });
    return close();
  } catch {
    // Either the upstream broke off or the client left; the abort signal tells which.
    const left = departure.gone() || (upstream.aborted && !watchdog.idleCut() && departure.cutBy() === null);
    upstream.abort();
    if (stream !== null)
      await ending.end(stream, left ? 'client_gone' : 'upstream_broken', left ? undefined : 'broken');
    try {
      if (!left) {
        client.release();
        client.write(ending.bad('broken'));
      }
      return close();
    } catch {
      // The client's side is closed; nobody is left to tell.
      return 'well';
    }
  } finally {
    watchdog.stop();
    client.calm();
  }
}

/** From the open stream to the last piece. */
async function carry(options: PumpOptions, opened: OpenStream, ends: Ends): Promise<void> {
  const { client, watchdog, ending } = ends;
  const { frameRelay, reader, framing } = opened;
  const frames = createFrames(options, opened, ends);
  watchdog.listen(reader);
  options.departure.expecting(() => frameRelay.nearEnd() || options.thinks(opened));
  if (await frames.begin()) return;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    watchdog.heard();
    const delivered = frames.deliver(framing.push(value));
    if (delivered === true || (delivered !== false && (await delivered))) return;
    const drawn = frames.overdrawn();
    if (drawn === true || (drawn !== false && (await drawn))) return;
  }
  const ended = frameRelay.isLast();
  const before = options.watch === null ? 0 : frameRelay.words().texts.length;
  const rest = frameRelay.close(framing.end());
  if (options.watch?.(frameRelay.words()) === true)
    return ending.cutAtWord(opened, textBefore(frameRelay.words(), before));
  // Some upstreams end without their dialect's last frame; what counts is that they said why they stopped.
  if (ended || frameRelay.finish() !== null || (frameRelay.usage() !== null && frameRelay.error() === null)) {
    await ending.end(opened, 'completed');
    client.release();
    if (rest !== null) client.write(rest);
    return;
  }
  await ending.end(opened, 'upstream_broken', watchdog.idleCut() ? 'idle' : 'truncated');
  client.release();
  client.write(ending.bad('broken'));
}
