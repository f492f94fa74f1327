/** RFC 1950 says a deflated body has a header of two bytes; many send it without one. */
export const hasZlibHeader = (bytes: Uint8Array): boolean => {
  const [first = 0, second = 0] = bytes;
  return (first & 15) === 8 && (first * 256 + second) % 31 === 0;
};
