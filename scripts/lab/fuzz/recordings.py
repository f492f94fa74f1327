"""Writes honest recordings in many forms, and says how much of a file a decoder plays. Needs `pip install av numpy`.

    python recordings.py write FOLDER [SECONDS]   one file per form, and forms.json with the length of each
    python recordings.py play                     paths on standard input, one a line; a line of seconds for each (-1 = nothing plays)
"""

import itertools
import json
import os
import signal
import sys
from fractions import Fraction

import av
import numpy

av.logging.set_level(av.logging.PANIC)


def sound(seconds, rate, channels):
    """Something like speech: tones that rise and fall, and noise; never silence, which packs to nothing."""
    at = numpy.arange(int(seconds * rate)) / rate
    noise = numpy.random.default_rng(7).normal(0, 0.05, len(at))
    wave = 0.3 * numpy.sin(2 * numpy.pi * (180 + 60 * numpy.sin(at * 5)) * at) * (0.6 + 0.4 * numpy.sin(at * 9)) + noise
    return numpy.repeat((numpy.clip(wave, -1, 1) * 32000).astype(numpy.int16), channels).reshape(1, -1)


def forms():
    """(name, muxer, codec, rate, channels, options of the muxer, options of the stream, with a film)"""
    pcm = ["pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le", "pcm_alaw", "pcm_mulaw"]
    for codec, (rate, channels) in itertools.product(pcm, [(8000, 1), (44100, 2)]):
        yield "wav", codec, rate, channels, {}, {}, False
    yield "wav", "pcm_s16le", 16000, 1, {"rf64": "always"}, {}, False
    for codec in ["adpcm_ms", "adpcm_ima_wav", "adpcm_yamaha"]:
        for rate, channels in [(11025, 1), (44100, 2)]:
            yield "wav", codec, rate, channels, {}, {}, False
    for codec, rate in [("g722", 16000), ("g726", 8000), ("g723_1", 8000)]:
        yield "wav", codec, rate, 1, {}, {}, False
    for codec, rate in [("libmp3lame", 16000), ("libmp3lame", 44100), ("mp2", 48000), ("ac3", 48000), ("wmav2", 44100)]:
        yield "wav", codec, rate, 2, {}, {}, False
    for codec in ["pcm_s8", "pcm_s16be", "pcm_s24be", "pcm_s32be", "pcm_f32be", "pcm_f64be", "pcm_alaw", "pcm_mulaw", "pcm_s16le", "adpcm_ima_qt"]:
        for rate, channels in [(16000, 1), (48000, 2)]:
            yield "aiff", codec, rate, channels, {}, {}, False
    for rate, channels in [(8000, 1), (16000, 1), (44100, 2), (96000, 2), (11025, 1)]:
        yield "flac", "flac", rate, channels, {}, {}, False
        yield "ogg", "flac", rate, channels, {}, {}, False
    for rate, channels, bits in [(8000, 1, 8000), (16000, 1, 24000), (16000, 1, 32000), (22050, 1, 64000), (24000, 2, 48000), (32000, 2, 96000), (44100, 2, 128000), (48000, 2, 320000), (11025, 1, 32000), (12000, 1, 16000)]:
        yield "mp3", "libmp3lame", rate, channels, {}, {"b": str(bits)}, False
    yield "mp3", "libmp3lame", 44100, 2, {"write_xing": "0"}, {"b": "64000"}, False
    yield "mp3", "libmp3lame", 44100, 2, {}, {"q": "4", "flags": "+qscale", "global_quality": "472"}, False
    for rate in [16000, 24000, 44100, 48000]:
        yield "mp2", "mp2", rate, 1, {}, {}, False
    for rate, channels in [(8000, 1), (16000, 1), (24000, 1), (44100, 2), (48000, 2), (96000, 2)]:
        yield "adts", "aac", rate, channels, {}, {}, False
        yield "latm", "aac", rate, channels, {}, {}, False
    for muxer in ["ac3", "eac3"]:
        for rate in [32000, 44100, 48000]:
            yield muxer, muxer, rate, 2, {}, {}, False
    yield "amr", "libopencore_amrnb", 8000, 1, {}, {"b": "12200"}, False
    yield "amr", "libopencore_amrnb", 8000, 1, {}, {"b": "4750"}, False
    for length, bits in itertools.product(["2.5", "10", "20", "60"], ["8000", "64000"]):
        yield "ogg", "libopus", 48000, 1, {}, {"frame_duration": length, "b": bits}, False
    for length in ["20", "60"]:
        for muxer in ["matroska", "webm", "mp4"]:
            yield muxer, "libopus", 48000, 2, {}, {"frame_duration": length, "b": "32000"}, False
    for rate, channels in [(44100, 2), (48000, 2)]:
        for muxer in ["ogg", "matroska", "webm"]:
            yield muxer, "vorbis", rate, channels, {}, {"strict": "-2"}, False
    fragments = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    for muxer, flags in [("mp4", {}), ("mp4", {"movflags": "faststart"}), ("mp4", fragments), ("mp4", {"movflags": "frag_keyframe+empty_moov"}), ("mov", {}), ("ipod", {}), ("ismv", {}), ("3gp", {}), ("f4v", {}), ("mp4", {"use_editlist": "0"}), ("mp4", {"movflags": "+delay_moov+frag_every_frame"})]:
        for rate, channels in [(8000, 1), (16000, 1), (44100, 2), (96000, 2)]:
            yield muxer, "aac", rate, channels, flags, {}, False
    for codec, rate in [("alac", 44100), ("alac", 16000), ("libmp3lame", 16000), ("libmp3lame", 44100), ("mp2", 48000), ("ac3", 48000), ("eac3", 48000), ("flac", 44100), ("flac", 16000), ("vorbis", 44100)]:
        for flags in [{}, fragments]:
            yield "mp4", codec, rate, 2, flags, {"strict": "-2"}, False
    for codec in ["pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s32be", "pcm_f32le", "pcm_f64be", "pcm_alaw", "pcm_mulaw", "pcm_u8", "pcm_s8", "adpcm_ima_qt", "adpcm_ms", "adpcm_ima_wav", "alac", "libmp3lame", "ac3"]:
        yield "mov", codec, 44100, 2, {}, {}, False
        yield "mov", codec, 16000 if codec != "ac3" else 48000, 1, fragments, {}, False
    yield "mp4", "pcm_s16le", 44100, 2, {}, {}, False
    yield "3gp", "libopencore_amrnb", 8000, 1, {}, {}, False
    yield "mov", "libopencore_amrnb", 8000, 1, {}, {}, False
    for codec in ["aac", "libmp3lame", "mp2", "ac3", "eac3", "flac", "alac", "tta", "wavpack", "pcm_u8", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le", "pcm_alaw", "pcm_mulaw", "adpcm_ms", "adpcm_ima_wav", "g726", "wmav2"]:
        for rate in [16000, 44100]:
            yield "matroska", codec, rate, 1 if codec == "g726" else 2, {}, {}, False
    for muxer, codec, rate in [("mp4", "aac", 44100), ("mov", "pcm_s16le", 44100), ("matroska", "libopus", 48000), ("matroska", "libmp3lame", 16000), ("webm", "libopus", 48000), ("mp4", "libmp3lame", 44100), ("matroska", "flac", 44100), ("ogg", "libopus", 48000)]:
        yield muxer, codec, rate, 2, {}, {}, True
    for codec, film in [("mp2", False), ("libmp3lame", True), ("ac3", True)]:
        yield "mpeg", codec, 48000, 2, {}, {}, film
    # Covers: tags of a hundred kilobytes, and a track of one picture.
    for muxer, codec in [("mp3", "libmp3lame"), ("flac", "flac"), ("mp4", "aac")]:
        yield muxer, codec, 48000, 2, {}, {"cover": "1"}, False
    # Written to what cannot seek back: headers state no size and no length.
    for muxer, codec in [("wav", "pcm_s16le"), ("matroska", "libopus"), ("webm", "libopus"), ("flac", "flac"), ("mp3", "libmp3lame"), ("aiff", "pcm_s16be"), ("ogg", "libopus")]:
        yield muxer, codec, 48000, 2, {"live": "1"} if muxer in ("matroska", "webm") else {}, {"streamed": "1"}, False
    # Nothing here reads these: their bytes decide.
    for muxer, codec in [("caf", "pcm_s16be"), ("au", "pcm_s16be"), ("w64", "pcm_s16le"), ("avi", "libmp3lame"), ("flv", "libmp3lame"), ("asf", "wmav2"), ("mpegts", "mp2"), ("wv", "wavpack"), ("tta", "tta"), ("voc", "pcm_u8")]:
        yield muxer, codec, 44100, 2, {}, {}, False


class Pipe:
    """A file that cannot be sought in."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        return self.file.write(data)

    def close(self):
        self.file.close()


def picture_of(out):
    """A cover of some hundred kilobytes."""
    encoder = av.CodecContext.create("png", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.time_base = 256, 256, "rgb24", Fraction(1, 1)
    noise = numpy.random.default_rng(5).integers(0, 255, (256, 256, 3), dtype=numpy.uint8)
    packets = encoder.encode(av.VideoFrame.from_ndarray(noise, format="rgb24"))
    stream = out.add_stream("png", rate=1)
    stream.width, stream.height, stream.pix_fmt = 256, 256, "rgb24"
    stream.disposition = av.stream.Disposition.attached_pic
    for packet in packets:
        packet.stream, packet.pts, packet.dts = stream, 0, 0
    return packets


def write(path, seconds, muxer, codec, rate, channels, muxing, coding, film):
    coding = dict(coding)
    cover, streamed = coding.pop("cover", None), coding.pop("streamed", None)
    target = Pipe(path) if streamed else path
    out = av.open(target, "w", format=muxer, options=muxing)
    stream = out.add_stream(codec, rate=rate, options=coding)
    stream.layout = "stereo" if channels == 2 else "mono"
    picture = None
    if film:
        picture = out.add_stream("theora" if muxer == "ogg" else "libvpx" if muxer == "webm" else "mpeg1video" if muxer == "mpeg" else "mpeg4", rate=25 if muxer == "mpeg" else 10)
        picture.width, picture.height, picture.pix_fmt, picture.bit_rate = 320, 240, "yuv420p", 2_000_000
    context = stream.codec_context
    covers = picture_of(out) if cover else []
    if film:
        random = numpy.random.default_rng(3)
    context.open()
    resampler = av.AudioResampler(format=context.format, layout=context.layout, rate=rate, frame_size=context.frame_size or None)
    for packet in covers:
        out.mux(packet)
    data = sound(seconds, rate, channels)
    step = rate // (25 if muxer == "mpeg" else 10)
    for piece in range(0, data.shape[1] // channels, step):
        frame = av.AudioFrame.from_ndarray(data[:, piece * channels : (piece + step) * channels], format="s16", layout=stream.layout.name)
        frame.sample_rate, frame.pts, frame.time_base = rate, piece, Fraction(1, rate)
        for one in resampler.resample(frame):
            out.mux(stream.encode(one))
        if picture is not None:
            pixels = av.VideoFrame.from_ndarray(random.integers(0, 255, (240, 320, 3), dtype=numpy.uint8), format="rgb24")
            pixels.pts = piece // step
            out.mux(picture.encode(pixels))
    for one in resampler.resample(None):
        out.mux(stream.encode(one))
    out.mux(stream.encode(None))
    if picture is not None:
        out.mux(picture.encode(None))
    out.close()
    if streamed:
        target.close()


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong


def play(path, most=2000):
    """Seconds of the track that a player takes, faults left out."""
    seconds = 0.0
    try:
        with av.open(path, metadata_errors="ignore") as file:
            stream = file.streams.best("audio")
            if stream is None:
                return -1.0
            packets = file.demux(stream)
            faults = 0
            while faults < 300 and seconds < most:
                try:
                    packet = next(packets)
                except StopIteration:
                    break
                except TooLong:
                    raise
                except Exception:
                    break
                try:
                    for frame in packet.decode():
                        if frame.sample_rate > 0:
                            seconds += frame.samples / frame.sample_rate
                except TooLong:
                    raise
                except Exception:
                    faults += 1
    except TooLong:
        pass
    except Exception:
        return seconds if seconds > 0 else -1.0
    return seconds


def main():
    if sys.argv[1] == "write":
        folder, seconds = sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 10.0
        os.makedirs(folder, exist_ok=True)
        listed = []
        for number, (muxer, codec, rate, channels, muxing, coding, film) in enumerate(forms()):
            words = [muxer, codec, str(rate), str(channels), *[f"{value}" for value in {**muxing, **coding}.values()], *(["film"] if film else [])]
            name = "-".join(words).replace("+", "_").replace("/", "_")
            path = os.path.join(folder, f"{number:03d}-{name}")
            try:
                # A run that was ended goes on where it was.
                if not os.path.exists(path):
                    write(f"{path}.part", seconds, muxer, codec, rate, channels, muxing, coding, film)
                    os.rename(f"{path}.part", path)
                listed.append({"file": os.path.basename(path), "seconds": play(path), "read": muxer not in unread})
            except Exception as error:
                print(f"{name}: {error}", file=sys.stderr)
                if os.path.exists(f"{path}.part"):
                    os.remove(f"{path}.part")
        with open(os.path.join(folder, "forms.json"), "w") as out:
            json.dump(listed, out, indent=1)
        print(f"{len(listed)} forms")
        return
    signal.signal(signal.SIGALRM, stop)
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_REAL, 4)
        try:
            found = play(line.strip())
        except TooLong:
            found = -1.0
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        print(found, flush=True)


unread = {"caf", "au", "w64", "avi", "flv", "asf", "mpegts", "wv", "tta", "voc"}

if __name__ == "__main__":
    main()
