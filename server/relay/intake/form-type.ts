/** The Content-Type of a form, read whole or not at all: every reader must find the same boundary in it. */
import { AppError } from '../../contract/errors.ts';

const parameter = /; ?([A-Za-z-]+)=(?:"([^"\\]*)"|([A-Za-z0-9!#$%&'*+.^_`|~-]+))/y;
/** RFC 2046 5.1.1, without the blank that some readers cut off. */
const boundaryMark = /^[0-9A-Za-z'()+_,\-./:=?]{1,70}$/;

/** @returns the boundary. @throws AppError body_invalid. */
export function boundaryOf(contentType: string): string {
  const start = /^multipart\/form-data(?=;|$)/i.exec(contentType)?.[0].length;
  if (start === undefined) throw new AppError('body_invalid', { detail: 'multipart/form-data is expected' });
  let boundary: string | null = null;
  parameter.lastIndex = start;
  while (parameter.lastIndex < contentType.length) {
    const found = parameter.exec(contentType);
    if (found === null) throw unclear();
    const name = (found[1] ?? '').toLowerCase();
    const value = found[2] ?? found[3] ?? '';
    if (name === 'charset') {
      // Starlette decodes fields by it.
      if (!/^utf-?8$/i.test(value)) throw new AppError('body_invalid', { detail: `charset ${value} is not utf-8` });
    } else if (name !== 'boundary' || boundary !== null || !boundaryMark.test(value)) throw unclear();
    else boundary = value;
  }
  if (boundary === null) throw new AppError('body_invalid', { detail: 'the form has no boundary' });
  return boundary;
}

const unclear = () =>
  new AppError('body_invalid', {
    detail: 'the Content-Type must name one boundary and nothing that is not understood',
  });
