/** Forms that readers are known or suspected to read differently, and forms as common clients write them. */

export interface FormBody {
  readonly name: string;
  readonly type: string;
  /** A byte a character. */
  readonly body: string;
}

const mark = '----b0undary7';
const type = `multipart/form-data; boundary=${mark}`;
const disposition = (parameters: string): string => `Content-Disposition: form-data; ${parameters}`;
const part = (headers: string, value: string): string => `--${mark}\r\n${headers}\r\n\r\n${value}\r\n`;
const field = (name: string, value: string): string => part(disposition(`name="${name}"`), value);
const end = `--${mark}--\r\n`;
const file = part(
  `${disposition('name="file"; filename="a.wav"')}\r\nContent-Type: audio/wav`,
  'RIFF....WAVEfmt sound',
);
const cheap = field('model', 'cheap');
const form = (name: string, ...parts: string[]): FormBody => ({ name, type, body: parts.join('') + end });
/** A cheap model, and a dear one behind some headers. */
const twice = (name: string, headers: string, value = 'dear'): FormBody =>
  form(name, cheap, file, part(headers, value));
const first = (name: string, headers: string, value = 'dear'): FormBody =>
  form(name, part(headers, value), file, cheap);
const typed = (name: string, contentType: string, body: string): FormBody => ({ name, type: contentType, body });
const plain = cheap + file + end;

export const forms: readonly FormBody[] = [
  form('plain', cheap, file),
  form('file first', file, cheap),
  form('n once', cheap, field('n', '4'), file),
  twice('name as a token', disposition('name=model')),
  first('name as a token first', disposition('name=model')),
  form('only name as a token', part(disposition('name=model'), 'dear'), file),
  twice('blanks around =', disposition('name = "model"')),
  first('blanks around = first', disposition('name = "model"')),
  twice('blank behind =', disposition('name= "model"')),
  twice('extended name', disposition("name*=utf-8''model")),
  twice('extended and plain name', disposition('name="x"; name*=utf-8\'\'model')),
  first('plain and extended name first', disposition('name*=utf-8\'\'model; name="x"')),
  twice('continued name', disposition('name*0="mo"; name*1="del"')),
  twice('single quotes', disposition("name='model'")),
  first('single quotes first', disposition("name='model'")),
  twice('escape', disposition('name="mod\\el"')),
  first('escape first', disposition('name="mod\\el"')),
  twice('escaped quote', disposition('name="x\\"; name=\\"model"')),
  twice('two names', disposition('name="x"; name="model"')),
  twice('two names, the other way', disposition('name="model"; name="x"')),
  twice('plain double', disposition('name="model"')),
  form(
    'double behind 9 MiB',
    cheap,
    part(disposition('name="file"; filename="a"'), 'x'.repeat(9 << 20)),
    field('model', 'dear'),
  ),
  form('n behind 9 MiB', cheap, part(disposition('name="file"; filename="a"'), 'x'.repeat(9 << 20)), field('n', '10')),
  form(
    'n twice behind 9 MiB',
    cheap,
    field('n', '1'),
    part(disposition('name="file"; filename="a"'), 'x'.repeat(9 << 20)),
    field('n', '10'),
  ),
  form('n twice', cheap, field('n', '1'), field('n', '10')),
  form('size twice', cheap, field('size', '256x256'), field('size', '1792x1024')),
  form('quality twice', cheap, field('quality', 'low'), field('quality', 'high')),
  form('stream twice', cheap, field('stream', 'true'), field('stream', 'false')),
  form('response_format twice', cheap, field('response_format', 'json'), field('response_format', 'srt')),
  form('file twice', cheap, file, file),
  form('list of models', cheap, field('model[]', 'dear')),
  form('indexed model', cheap, field('model[0]', 'dear')),
  form('list of n', cheap, field('n', '1'), field('n[]', '10')),
  form('model in capitals', cheap, field('Model', 'dear')),
  form('only in capitals', field('MODEL', 'dear'), file),
  form('model with a blank', cheap, field(' model', 'dear')),
  form('model with a blank behind', cheap, field('model ', 'dear')),
  form('dot for underscore', cheap, field('response.format', 'srt')),
  form('NUL in the name', cheap, field('model\0x', 'dear')),
  form('percent in the name', cheap, field('mod%65l', 'dear')),
  form('n in other digits', cheap, field('n', '\xef\xbc\x94')),
  form('n with an underscore', cheap, field('n', '1_0')),
  form('n with blanks', cheap, field('n', ' 4 ')),
  form('n in hex', cheap, field('n', '0x4')),
  form('n as exponent', cheap, field('n', '1e1')),
  form('n empty', cheap, field('n', '')),
  twice('model as a file', disposition('name="model"; filename="m"')),
  first('model as a file first', disposition('name="model"; filename=""')),
  twice('model as a file by extended name', disposition('name="model"; filename*=utf-8\'\'m')),
  twice('file name in front', disposition('filename="name=model"; name="x"')),
  twice('file name holds a parameter', disposition('name="x"; filename="a; name=model"')),
  twice('file name holds a quoted parameter', disposition('name="x"; filename="a\\"; name="model"')),
  twice('file name ends in a backslash', disposition('name="x"; filename="a\\"')),
  twice('two file names', disposition('name="x"; filename="a"; filename="b"')),
  twice('attachment', 'Content-Disposition: attachment; name="model"'),
  first('attachment first', 'Content-Disposition: attachment; name="model"'),
  twice('Form-Data', 'Content-Disposition: Form-Data; name="model"'),
  first('Form-Data first', 'Content-Disposition: Form-Data; name="model"'),
  twice('NAME', disposition('NAME="model"')),
  first('NAME first', disposition('NAME="model"')),
  first('header in capitals', 'CONTENT-DISPOSITION: form-data; name="other"'),
  form('header in small letters', part('content-disposition: form-data; name="model"', 'cheap'), file),
  form('header in capitals alone', part('CONTENT-DISPOSITION: form-data; name="model"', 'cheap'), file),
  twice('folded header', 'Content-Disposition: form-data;\r\n name="model"'),
  first('folded header first', 'Content-Disposition: form-data;\r\n\tname="model"'),
  twice('header without a blank', 'Content-Disposition:form-data;name="model"'),
  form('header without a blank alone', part('Content-Disposition:form-data;name="model"', 'cheap'), file),
  twice('blank in front of the colon', 'Content-Disposition : form-data; name="model"'),
  twice('two dispositions', `${disposition('name="x"')}\r\n${disposition('name="model"')}`),
  first('two dispositions first', `${disposition('name="model"')}\r\n${disposition('name="x"')}`),
  twice('no disposition', 'Content-Type: text/plain'),
  twice('no name', 'Content-Disposition: form-data'),
  twice('header lines end in LF', 'X-A: b\nContent-Disposition: form-data; name="model"'),
  twice('header lines end in CR', 'X-A: b\rContent-Disposition: form-data; name="model"'),
  twice('header line without a colon', `junk\r\n${disposition('name="model"')}`),
  twice('tabs', 'Content-Disposition:\tform-data;\tname="model"'),
  twice('semicolons', 'Content-Disposition: form-data;; name="model"'),
  twice('trailing semicolon', disposition('name="model";')),
  twice('quoted-printable', `${disposition('name="model"')}\r\nContent-Transfer-Encoding: quoted-printable`, 'de=61r'),
  form(
    'quoted-printable alone',
    part(`${disposition('name="model"')}\r\nContent-Transfer-Encoding: quoted-printable`, 'ch=65ap'),
    file,
  ),
  form('base64 alone', part(`${disposition('name="model"')}\r\nContent-Transfer-Encoding: base64`, 'ZGVhcg=='), file),
  form('8bit', part(`${disposition('name="model"')}\r\nContent-Transfer-Encoding: 8bit`, 'cheap'), file),
  form(
    'utf-16 part',
    part(`${disposition('name="model"')}\r\nContent-Type: text/plain; charset=utf-16le`, 'dear'),
    file,
  ),
  form(
    'utf-7 part',
    part(`${disposition('name="model"')}\r\nContent-Type: text/plain; charset=utf-7`, '+AGQ-ear'),
    file,
  ),
  form('utf-8 part', part(`${disposition('name="model"')}\r\nContent-Type: text/plain; charset=utf-8`, 'cheap'), file),
  form(
    'latin-1 part',
    part(`${disposition('name="model"')}\r\nContent-Type: text/plain; charset=ISO-8859-1`, 'cheap'),
    file,
  ),
  form(
    'latin-1 part, other letters',
    part(`${disposition('name="model"')}\r\nContent-Type: text/plain; charset=ISO-8859-1`, 'ch\xc3\xa9'),
    file,
  ),
  form('octet-stream part', cheap, part(`${disposition('name="n"')}\r\nContent-Type: application/octet-stream`, '4')),
  form('JSON part', cheap, part(`${disposition('name="n"')}\r\nContent-Type: application/json`, '"4"')),
  form('_charset_', field('_charset_', 'utf-16'), cheap, file),
  form('_charset_ utf-8', field('_charset_', 'utf-8'), cheap, file),
  form(
    'nested form',
    part(
      `${disposition('name="x"')}\r\nContent-Type: multipart/mixed; boundary=in`,
      `--in\r\n${disposition('name="model"')}\r\n\r\ndear\r\n--in--`,
    ),
    cheap,
  ),
  form('Content-Length of a part', part(`${disposition('name="model"')}\r\nContent-Length: 5`, 'cheap'), file),
  form('wrong Content-Length of a part', part(`${disposition('name="model"')}\r\nContent-Length: 4`, 'dearest'), file),
  form('invalid UTF-8', field('model', 'ch\xffeap'), file),
  form('model with a line break', field('model', 'cheap\r\n'), file),
  form('empty value', field('model', ''), file),
  form('UTF-8 model', field('model', '\xe6\xa8\xa1\xe5\x9e\x8b'), file),
  typed('preamble', type, `junk\r\n${plain}`),
  typed('preamble with a part', type, `--${mark}x\r\n${disposition('name="model"')}\r\n\r\ndear\r\n${plain}`),
  typed('empty line in front', type, `\r\n${plain}`),
  typed('two empty lines in front', type, `\r\n\r\n${plain}`),
  typed('epilogue', type, `${plain}${cheap.replace('cheap', 'dear')}${end}`),
  typed('epilogue of line breaks', type, `${plain}\r\n\r\n`),
  typed('no line break at the end', type, plain.slice(0, -2)),
  typed('no last boundary', type, cheap + file),
  typed('broken off', type, plain.slice(0, -30)),
  typed('LF only', type, plain.replaceAll('\r\n', '\n')),
  typed(
    'LF in front of a boundary',
    type,
    `${cheap}${file.slice(0, -2)}\n--${mark}\r\n${disposition('name="model"')}\r\n\r\ndear\r\n${end}`,
  ),
  typed(
    'CR in front of a boundary',
    type,
    `${cheap}${file.slice(0, -2)}\r--${mark}\r\n${disposition('name="model"')}\r\n\r\ndear\r\n${end}`,
  ),
  typed(
    'nothing in front of a boundary',
    type,
    `${cheap}${file.slice(0, -2)}--${mark}\r\n${disposition('name="model"')}\r\n\r\ndear\r\n${end}`,
  ),
  typed('LF behind a boundary', type, `${cheap}${file}--${mark}\n${disposition('name="model"')}\r\n\r\ndear\r\n${end}`),
  typed(
    'blanks behind a boundary',
    type,
    `${cheap}${file}--${mark}  \r\n${disposition('name="model"')}\r\n\r\ndear\r\n${end}`,
  ),
  typed(
    'letters behind a boundary',
    type,
    `${cheap}${file}--${mark}x\r\n${disposition('name="model"')}\r\n\r\ndear\r\n${end}`,
  ),
  typed('early end', type, `${cheap}--${mark}--\r\n${cheap.replace('cheap', 'dear')}${end}`),
  typed('end and blanks', type, `${cheap}--${mark}-- \r\n`),
  typed('part without headers', type, `--${mark}\r\n\r\nx\r\n${plain}`),
  typed('empty part', type, `--${mark}\r\n${plain}`),
  typed('quoted boundary', `multipart/form-data; boundary="${mark}"`, plain),
  typed('two boundaries', `multipart/form-data; boundary=other; boundary=${mark}`, plain),
  typed(
    'two boundaries, the other way',
    `multipart/form-data; boundary=${mark}; boundary=other`,
    `${plain}--other\r\n${disposition('name="model"')}\r\n\r\ndear\r\n--other--\r\n`,
  ),
  typed('extended boundary', `multipart/form-data; boundary*=utf-8''${mark}`, plain),
  typed('both boundaries', `multipart/form-data; boundary=${mark}; boundary*=utf-8''other`, plain),
  typed('Boundary', `multipart/form-data; Boundary=${mark}`, plain),
  typed('boundary in another parameter', `multipart/form-data; x="; boundary=other"; boundary=${mark}`, plain),
  typed('escaped boundary', `multipart/form-data; boundary="----b0un\\dary7"`, plain),
  typed('boundary with a blank', 'multipart/form-data; boundary="a b"', plain.replaceAll(mark, 'a b')),
  typed('boundary ends in a blank', 'multipart/form-data; boundary="ab "', plain.replaceAll(mark, 'ab ')),
  typed('unquoted boundary with a comma', 'multipart/form-data; boundary=a,b', plain.replaceAll(mark, 'a,b')),
  typed('blanks around = of the boundary', `multipart/form-data; boundary = ${mark}`, plain),
  typed('two types', `${type}, multipart/form-data; boundary=other`, plain),
  typed('charset utf-8', `multipart/form-data; charset=utf-8; boundary=${mark}`, plain),
  typed('charset utf-7', `multipart/form-data; charset=utf-7; boundary=${mark}`, plain.replace('cheap', '+AGQ-ear')),
  typed('charset utf-16', `multipart/form-data; charset=utf-16; boundary=${mark}`, plain.replace('cheap', 'dear')),
  typed('multipart/mixed', `multipart/mixed; boundary=${mark}`, plain),
  typed('long boundary', `multipart/form-data; boundary=${'b'.repeat(70)}`, plain.replaceAll(mark, 'b'.repeat(70))),
  typed('too long boundary', `multipart/form-data; boundary=${'b'.repeat(90)}`, plain.replaceAll(mark, 'b'.repeat(90))),
];

/** Written by the clients themselves, their own boundary and all. Source: recorded by `record.py`, `record.go` and by hand. */
export const clientForms: readonly FormBody[] = [
  typed(
    'curl -F',
    'multipart/form-data; boundary=------------------------d74496d66958873e',
    '--------------------------d74496d66958873e\r\nContent-Disposition: form-data; name="model"\r\n\r\ncheap\r\n--------------------------d74496d66958873e\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: application/octet-stream\r\n\r\nRIFF\r\n--------------------------d74496d66958873e--\r\n',
  ),
  typed(
    'okhttp',
    'multipart/form-data; boundary=5b1e3d1e-4f24-4cf2-8f3c-2d6a1f8b7c11',
    '--5b1e3d1e-4f24-4cf2-8f3c-2d6a1f8b7c11\r\nContent-Disposition: form-data; name="model"\r\nContent-Length: 5\r\n\r\ncheap\r\n--5b1e3d1e-4f24-4cf2-8f3c-2d6a1f8b7c11\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\nContent-Length: 4\r\n\r\nRIFF\r\n--5b1e3d1e-4f24-4cf2-8f3c-2d6a1f8b7c11--\r\n',
  ),
  typed(
    'Apache HttpClient',
    'multipart/form-data; boundary=pT1dUi-vBQ0s_XkqC4k1ZrLwq7',
    '--pT1dUi-vBQ0s_XkqC4k1ZrLwq7\r\nContent-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\ncheap\r\n--pT1dUi-vBQ0s_XkqC4k1ZrLwq7\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n\r\nRIFF\r\n--pT1dUi-vBQ0s_XkqC4k1ZrLwq7--\r\n',
  ),
  typed(
    '.NET HttpClient',
    'multipart/form-data; boundary="2f4b0a1e-9c6d-4a51-8d44-0f0f7d9e8a10"',
    "--2f4b0a1e-9c6d-4a51-8d44-0f0f7d9e8a10\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model\r\n\r\ncheap\r\n--2f4b0a1e-9c6d-4a51-8d44-0f0f7d9e8a10\r\nContent-Disposition: form-data; name=file; filename=a.wav; filename*=utf-8''a.wav\r\n\r\nRIFF\r\n--2f4b0a1e-9c6d-4a51-8d44-0f0f7d9e8a10--\r\n",
  ),
  typed(
    'Chromium',
    'multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW',
    '------WebKitFormBoundary7MA4YWxkTrZu0gW\r\nContent-Disposition: form-data; name="model"\r\n\r\ncheap\r\n------WebKitFormBoundary7MA4YWxkTrZu0gW\r\nContent-Disposition: form-data; name="file"; filename="\xe5\xa3\xb0\xe9\x9f\xb3.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n------WebKitFormBoundary7MA4YWxkTrZu0gW--\r\n',
  ),
];
