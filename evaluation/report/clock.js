// The time that everything in a clip's view follows: the video's, or its own where there is none.
//
//   const clock = new Clock(onTick);
//   clock.start(video, 6.0);      // or null for a clip without a file
//   clock.seek(2.4); clock.play(); clock.time
//
// A file that the browser can't play leaves the clock running on its own: the timelines stay usable.
// So does one that ends before its row does, from its last picture on (`beyond`); one that lasts
// longer stops where its row does. Times count from the first picture, as they do in the rows: a
// file whose picture begins late is `offset` ahead.

// Rows say durations to one decimal, and released ones within .15 s.
const SAME_DURATION_SECONDS = 0.2;

class Clock {
  constructor(onTick) {
    this.onTick = onTick;
    this.rate = 1;
    this.number = 0;
    this.start(null, 1);
  }

  start(video, duration) {
    if (this.video) this.video.pause();
    this.number += 1; // what an earlier clip's video still reports is not ours
    Object.assign(this, {
      video, duration, usable: false, beyond: false, playing: false, ownTime: 0, offset: 0,
    });
    if (!video) return;
    const number = this.number;
    const on = (event, action) => video.addEventListener(event, () => {
      if (number === this.number) action();
    });
    on("loadedmetadata", () => this.takeVideo());
    on("error", () => this.dropVideo());
    on("seeked", () => this.tick());
    on("timeupdate", () => this.tick());
    on("ended", () => this.endVideo());
    on("pause", () => {
      if (this.usable && !this.beyond && !video.ended) this.pause();
    });
    if (video.requestVideoFrameCallback) {
      video.requestVideoFrameCallback((now, { mediaTime }) => {
        if (number === this.number) this.takeFirstPicture(mediaTime);
      });
    }
    if (video.error) this.dropVideo();
    else if (video.readyState >= 1) this.takeVideo();
  }

  takeVideo() {
    this.usable = true;
    this.video.playbackRate = this.rate;
    if (this.ownTime > 0) this.seek(this.ownTime);
    if (this.playing && !this.beyond) this.playVideo();
    this.tick();
  }

  // A picture shown before its time is the first: there is none for this moment. While the video
  // plays, one may be a frame ahead.
  takeFirstPicture(seconds) {
    const ahead = seconds - this.video.currentTime;
    if (ahead <= (this.playing ? SAME_DURATION_SECONDS : 0)) return;
    this.offset = seconds;
    this.seek(this.ownTime);
  }

  // How long the file's picture lasts; NaN before that is known, Infinity where the file is silent.
  get fileSeconds() {
    return this.usable ? this.video.duration - this.offset : NaN;
  }

  // Where the file stops although its row goes on, else Infinity.
  get fileEnd() {
    const end = this.fileSeconds;
    return this.duration - end > SAME_DURATION_SECONDS ? end : Infinity;
  }

  get videoTime() {
    return Math.max(this.video.currentTime - this.offset, 0);
  }

  endVideo() {
    if (this.beyond) return;
    if (!this.playing || this.fileEnd === Infinity) {
      this.pause();
      return;
    }
    this.ownTime = this.videoTime;
    this.beyond = true;
  }

  dropVideo() {
    if (this.usable) this.ownTime = this.time;
    this.usable = false;
    this.tick();
  }

  get time() {
    return this.usable && !this.beyond ? Math.min(this.videoTime, this.duration) : this.ownTime;
  }

  seek(seconds) {
    this.ownTime = Math.min(Math.max(seconds, 0), this.duration);
    if (this.usable) {
      this.beyond = this.ownTime >= this.fileEnd;
      this.video.currentTime = this.ownTime + this.offset;
      if (this.beyond) this.video.pause();
      else if (this.playing && this.video.paused) this.playVideo();
    }
    this.tick();
  }

  play() {
    if (this.time >= this.duration - Math.min(0.05, this.duration / 20)) this.seek(0);
    if (this.playing) return;
    this.playing = true;
    if (this.usable && !this.beyond) this.playVideo();
    this.follow(this.number, performance.now());
    this.tick();
  }

  playVideo() {
    // Refused where the browser wants a click first, or aborted by the next clip.
    this.video.play().catch(() => {
      if (!this.beyond) this.pause();
    });
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    if (this.usable && !this.beyond) {
      this.ownTime = this.time;
      this.video.pause();
    }
    this.tick();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  setRate(rate) {
    this.rate = rate;
    if (this.video) this.video.playbackRate = rate;
  }

  follow(number, before) {
    requestAnimationFrame((now) => {
      if (!this.playing || number !== this.number) return;
      if (this.usable && !this.beyond) {
        const outlasts = this.fileSeconds - this.duration > SAME_DURATION_SECONDS;
        if (outlasts && this.videoTime >= this.duration) {
          this.pause();
          return;
        }
      } else {
        this.ownTime += (this.rate * Math.max(now - before, 0)) / 1000;
        if (this.ownTime >= this.duration) {
          this.ownTime = this.duration;
          this.pause();
          return;
        }
      }
      this.tick();
      this.follow(number, now);
    });
  }

  tick() {
    this.onTick(this.time, this.playing);
  }
}
