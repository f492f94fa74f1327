/** A thread that says what its clock shows. */
import { type ClockReading, createMonoClock } from '../../server/threads/relay/clock.ts';

declare const self: {
  onmessage: ((event: MessageEvent<ClockReading>) => void) | null;
  postMessage(message: unknown): void;
};

let monoNow: (() => number) | null = null;
self.onmessage = ({ data }) => {
  monoNow ??= createMonoClock(data);
  self.postMessage(monoNow());
};
