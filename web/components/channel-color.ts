/** Fifteen colours that channels and their types take in turn; each dark enough for white letters. */
const count = 15;

export const channelColor = (number: number): string =>
  `oklch(0.45 0.11 ${(Math.abs(Math.trunc(number)) % count) * (360 / count)})`;
