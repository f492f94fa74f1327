/** A thread that says what its clock shows. */
import { type ClockReading, createSteadyClock } from '../../server/threads/relay/clock.ts';

declare const self: {
  onmessage: ((event: MessageEvent<ClockReading>) => void) | null;
  postMessage(message: unknown): void;
};

let steady: (() => number) | null = null;
self.onmessage = ({ data }) => {
  steady ??= createSteadyClock(data);
  self.postMessage(steady());
};
