/** A wall clock that a file sets: the file that `LAB_CLOCK_FILE` names holds by how many milliseconds it is wrong. Loaded before anything else, in each thread. */
import { readFileSync } from 'node:fs';

const file = process.env.LAB_CLOCK_FILE ?? '';
const lookMs = 100;
let skewMs = 0;
const look = () => {
  try {
    skewMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    skewMs = 0;
  }
};

if (file !== '') {
  look();
  setInterval(look, lookMs).unref();
  const Plain = Date;
  const now = () => Plain.now() + skewMs;
  globalThis.Date = new Proxy(Plain, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  });
}
